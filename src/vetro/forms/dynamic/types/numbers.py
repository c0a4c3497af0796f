"""Numbers and yes or no: integer, boolean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.types.base import FieldType, Refused, Resolved
from vetro.forms.model import Kind

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look

_ZERO_FRACTION = re.compile(r"\.0*\s*$")
_LONGEST = 1000


class Integer(FieldType):
    """A whole number."""

    kind: ClassVar[Kind] = "integer"
    #: Lengths mean nothing here, but the documentation's own example has one.
    own = frozenset({"min_value", "max_value", "min_length", "max_length"})
    invalid = Text("Enter a whole number.")
    empty = None

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        field.minimum = values.get("min_value")
        field.maximum = values.get("max_value")

    def clean(self, raw: Any, field: Resolved) -> Any:
        if raw is None or raw == "":
            return None
        if raw.__class__ is int:
            return raw
        if isinstance(raw, bool) or not isinstance(raw, (str, float)):
            raise Refused("invalid", self.invalid)
        text = str(raw)
        try:
            if len(text) > _LONGEST:
                raise ValueError
            return int(_ZERO_FRACTION.sub("", text))
        except ValueError:
            raise Refused("invalid", self.invalid) from None

    def answer(self, raw: Any, field: Resolved) -> Any:
        try:
            return self.clean(raw, field)
        except Refused:
            return raw

    def limits(self, value: Any, field: Resolved) -> Sequence[Refused]:
        found = []
        if field.minimum is not None and value < field.minimum:
            message = Text("Ensure this value is greater than or equal to {minimum}.", minimum=field.minimum)
            found.append(Refused("min_value", message, limit_value=field.minimum, show_value=value))
        if field.maximum is not None and value > field.maximum:
            message = Text("Ensure this value is less than or equal to {maximum}.", maximum=field.maximum)
            found.append(Refused("max_value", message, limit_value=field.maximum, show_value=value))
        return found


class Boolean(FieldType):
    """A box to tick. Never required: not ticked is an answer."""

    kind: ClassVar[Kind] = "boolean"
    empty = False

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        field.required = False

    def shown(self, value: Any, field: Resolved) -> Any:
        return self.clean(value, field)

    def answer(self, raw: Any, field: Resolved) -> Any:
        return self.clean(raw, field)

    def received(self, raw: Any, field: Resolved) -> Any:
        return self.clean(raw, field)

    def clean(self, raw: Any, field: Resolved) -> Any:
        if isinstance(raw, str):
            return raw.lower() != "false" and raw != "" and not (field.hidden and raw == "0")
        return bool(raw)

    def is_empty(self, value: Any) -> bool:
        return False
