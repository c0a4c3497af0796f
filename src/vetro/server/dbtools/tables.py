"""The rows of all tables as plain values that every database understands, and a sum of them that says whether two
databases hold the same. Ciphertext stays as it is: no key is needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.db import connections, models
from django.utils.dateparse import parse_datetime

#: Rows read at once.
TOGETHER = 500
_SUM = 1 << 256
#: Tables in which migrations write rows: these are replaced where rows come from elsewhere.
MADE = frozenset({"auth_permission", "catalog_category", "django_content_type"})
#: Kinds of columns.
KINDS = frozenset({"bool", "bytes", "float", "int", "json", "text", "time"})
_TYPES: dict[str, type] = {"bool": bool, "float": float, "int": int, "json": str, "text": str}


@dataclass(frozen=True, slots=True)
class Column:
    """``kind``: bool, bytes, float, int, json, text or time. ``most``: characters of a text, None: any number."""

    name: str
    kind: str
    most: int | None
    #: Django's name of an integer type.
    integer: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the installation."""

    name: str
    columns: tuple[Column, ...]
    #: The column that the database numbers itself; empty: none.
    numbered: str


def tables() -> list[Table]:
    """Every table, each after those that it refers to. That of the migrations is not among them."""
    found: dict[str, Any] = {}

    def visit(model: Any) -> None:
        name = model._meta.db_table
        if name in found or not model._meta.managed or model._meta.proxy:
            return
        found[name] = None
        for field in model._meta.local_fields:
            if field.remote_field is not None:
                visit(field.remote_field.model)
        del found[name]
        found[name] = _table(model)

    for model in apps.get_models(include_auto_created=True):
        visit(model)
    return list(found.values())


def _table(model: Any) -> Table:
    fields: Sequence[Any] = model._meta.local_concrete_fields
    numbered: Any = next((f.column for f in fields if isinstance(f, models.AutoField | models.BigAutoField)), "")
    return Table(model._meta.db_table, tuple(_column(field) for field in fields), numbered)


def _column(field: Any) -> Column:
    end = field
    while end.remote_field is not None:
        end = end.target_field
    kinds: Sequence[tuple[type, str]] = (
        (models.BinaryField, "bytes"),
        (models.JSONField, "json"),
        (models.DateTimeField, "time"),
        (models.BooleanField, "bool"),
        (models.FloatField, "float"),
        (models.IntegerField, "int"),
        (models.AutoField, "int"),
        (models.CharField, "text"),
        (models.TextField, "text"),
    )
    kind = next((word for type, word in kinds if isinstance(end, type)), None)
    if kind is None:
        raise TypeError(f"{field}: fields of type {type(end).__name__} cannot be moved between databases")
    return Column(
        field.column, kind, end.max_length if kind == "text" else None, end.get_internal_type() if kind == "int" else ""
    )


def rows(alias: str, table: Table) -> Iterator[list[Any]]:
    """The rows in any order; a cursor of the server, so call it inside of a transaction."""
    connection = connections[alias]
    quote = connection.ops.quote_name
    names = ", ".join(quote(column.name) for column in table.columns)
    kinds = [column.kind for column in table.columns]
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT {names} FROM {quote(table.name)}")
        while found := cursor.fetchmany(TOGETHER):
            for row in found:
                yield [_plain(value, kind) for value, kind in zip(row, kinds, strict=True)]


def _plain(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "time":
        when: Any = parse_datetime(value) if isinstance(value, str) else value
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if kind == "json":
        return value if isinstance(value, str) else json.dumps(value)
    return {"bool": bool, "bytes": bytes, "float": float, "int": int, "text": str}[kind](value)


def as_json(value: Any) -> Any:
    """A value of a row as JSON has it; `from_json` reads it. Bytes are texts of as many characters."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.isoformat() if isinstance(value, datetime) else value


def from_json(value: Any, kind: str) -> Any:
    """What `as_json` wrote for a column of this kind. Raises ValueError, TypeError, AttributeError otherwise."""
    if value is None:
        return None
    if kind == "bytes":
        return value.encode("latin-1")
    if kind == "time":
        return datetime.fromisoformat(value)
    if not isinstance(value, _TYPES[kind]):
        raise ValueError(f"{str(value)[:40]!r} is no {kind}")
    return value


class Sum:
    """Counts rows and adds up their digests: the same for the same rows in whatever order."""

    def __init__(self, table: Table) -> None:
        self._kinds = [column.kind for column in table.columns]
        self.count = 0
        self._value = 0

    def add(self, row: Sequence[Any]) -> None:
        """One row as `rows` gives it."""
        digest = hashlib.blake2b(digest_size=32)
        for value, kind in zip(row, self._kinds, strict=True):
            data = _bytes(value, kind)
            digest.update(b"-" if data is None else b"%d:" % len(data))
            digest.update(data or b"")
        self.count += 1
        self._value = (self._value + int.from_bytes(digest.digest(), "big")) % _SUM

    @property
    def checksum(self) -> str:
        """In hexadecimal digits."""
        return f"{self._value:064x}"


def _bytes(value: Any, kind: str) -> bytes | None:
    if value is None:
        return None
    if kind == "bytes":
        return bytes(value)
    if kind == "json":
        # PostgreSQL keeps values, not texts: neither the order of keys nor 1e2 for 100.
        parsed = json.loads(value, parse_float=_number, parse_int=_number)
        value = json.dumps(parsed, sort_keys=True)
    elif isinstance(value, datetime):
        value = value.isoformat()
    return str(value).encode("utf-8", "surrogatepass")


def _number(text: str) -> list[str]:
    number = Decimal(text).normalize()
    return ["number", str(number if number else 0)]
