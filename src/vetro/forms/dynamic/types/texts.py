"""Texts: string, text, clusterip, databaselist."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.types.base import FieldType, Refused, Resolved, length_limits, sent_text
from vetro.forms.model import Kind

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look

_LENGTHS = frozenset({"min_length", "max_length"})
_NULL = Refused("null_characters_not_allowed", Text("Null characters are not allowed."))


class String(FieldType):
    """One line of text. Outer blanks are dropped."""

    own = _LENGTHS

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        field.min_length = values.get("min_length")
        field.max_length = values.get("max_length")

    def clean(self, raw: Any, field: Resolved) -> Any:
        return sent_text(raw, field).strip()

    def limits(self, value: Any, field: Resolved) -> Sequence[Refused]:
        found = list(length_limits(len(value), field))
        if "\0" in value:
            found.append(_NULL)
        return found


class PlainText(String):
    """Text of several lines; line ends stay as they are sent."""

    kind: ClassVar[Kind] = "text"
    widget = "textarea"


class ClusterIp(String):
    """An IPv4 address."""

    widget = "ipv4"
    invalid = Text("Enter a valid IPv4 address.")

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        super().settle(field, values, look)
        if field.max_length is None:
            field.max_length = 39

    def limits(self, value: Any, field: Resolved) -> Sequence[Refused]:
        try:
            ipaddress.IPv4Address(value)
        except ValueError:
            return [Refused("invalid", self.invalid), *super().limits(value, field)]
        return super().limits(value, field)


_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_$#@]*", re.ASCII)


class DatabaseList(FieldType):
    """Names of databases in one line, with commas between them. The value is the list of names."""

    kind: ClassVar[Kind] = "list"
    widget = "names"
    own = _LENGTHS
    invalid = Text(
        "Names must begin with a letter or an underscore and hold only letters, digits and the characters _ $ # @"
    )

    def nothing(self) -> Any:
        return []

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        field.min_length = values.get("min_length")
        field.max_length = values.get("max_length")

    def shown(self, value: Any, field: Resolved) -> Any:
        if isinstance(value, (tuple, list)):
            return ", ".join(str(item) for item in value) or None
        return super().shown(value, field)

    def clean(self, raw: Any, field: Resolved) -> Any:
        if isinstance(raw, (list, tuple)):
            raw = ",".join(sent_text(item, field) for item in raw)
        text = sent_text(raw, field).strip()
        names = [name.strip() for name in text.split(",")] if text else []
        if not all(_DATABASE.fullmatch(name) for name in names):
            raise Refused("invalid", self.invalid)
        return names

    def limits(self, value: Any, field: Resolved) -> Sequence[Refused]:
        return length_limits(len(value), field)

    def text_of(self, value: Any) -> str:
        return ",".join(value)
