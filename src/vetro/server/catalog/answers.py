"""Packages as plain data, straight from rows: what the APIs answer (API.md 3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from vetro.server.queries import on_sqlite

#: The columns that `package_json` wants, in this order.
COLUMNS = (
    "id", "fqn", "version", "name", "type", "author", "description", "supplier", "enabled", "is_public", "project_id",
    "tag_names", "category_names", "class_names", "created", "updated",
)  # fmt: skip


_TIMES = ("created", "updated")
_decoded = json.JSONDecoder().raw_decode


@cache
def selected(table: str) -> str:
    """The columns of ``table`` as a statement selects them.

    On SQLite times stay text: the name of a column would have each made into an object, to be text again at once.
    """
    text = " || ''" if on_sqlite() else ""
    return ", ".join(f"{table}.{name}{text if name in _TIMES else ''}" for name in COLUMNS)


def package_json(row: Sequence[Any]) -> dict[str, Any]:
    """The package object of the v1 API, with ``version``, from the values of `COLUMNS`."""
    (
        id, fqn, version, name, kind, author, description, supplier, enabled, public, project, tags, categories,
        classes, created, updated,
    ) = row  # fmt: skip
    return {
        "id": id,
        "name": name,
        "fully_qualified_name": fqn,
        "type": kind,
        "version": version,
        "author": author,
        "description": description,
        "supplier": _data(supplier),
        "tags": _data(tags),
        "categories": _data(categories),
        "class_definitions": _data(classes),
        "enabled": bool(enabled),
        "is_public": bool(public),
        "owner_id": project,
        "created": _time(created),
        "updated": _time(updated),
    }


def shown(package: Any) -> dict[str, Any]:
    """The same for an instance."""
    return package_json([getattr(package, name) for name in COLUMNS])


def _data(value: Any) -> Any:
    """JSON columns come as text where the query was not made by Django's models."""
    return _decoded(value)[0] if isinstance(value, str) else value


def _time(value: Any) -> str | None:
    """A time as text, also one that SQLite gives as text or without a zone: it is in UTC."""
    if isinstance(value, str):
        return f"{value[:10]}T{value[11:19]}"
    if not isinstance(value, datetime):
        return None
    if value.tzinfo not in (None, UTC):
        value = value.astimezone(UTC)
    text: str = value.isoformat()
    return text[:19]
