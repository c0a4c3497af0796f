"""What problems say where the package has no text of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TYPE_NAMES: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "array": "a list",
    "object": "a group of values",
}
_UNITS: Final = {"string": "character", "array": "item", "object": "entry"}


def message_of(rule: Mapping[str, Any], kind: str = "string") -> str:
    """The text for a rule that does not hold; ``kind`` is the JSON type of the value."""
    code, limit = str(rule["code"]), rule.get("limit")
    if code in ("min_length", "max_length"):
        return _length(code, int(limit or 0), kind)
    if code == "type":
        what = " or ".join(_TYPE_NAMES[t] for t in rule.get("types", ()) if t != "null")
        return f"This must be {what}." if what else "Nothing may be entered here."
    if code == "invalid_choice":
        shown = ", ".join(_shown(value) for value in rule.get("values", ())[:10])
        return f"Choose one of: {shown}." if len(rule.get("values", ())) <= 10 else "Choose one of the offered values."
    return _TEXTS[code].format(limit=limit)


_TEXTS: Final = {
    "required": "Enter a value.",
    "minimum": "This must be {limit} or more.",
    "maximum": "This must be {limit} or less.",
    "exclusive_minimum": "This must be more than {limit}.",
    "exclusive_maximum": "This must be less than {limit}.",
    "pattern": "This does not have the form that is wanted.",
    "unique": "No value may stand here twice.",
    "extra": "There is nothing of this name to enter.",
}


def _length(code: str, limit: int, kind: str) -> str:
    if code == "min_length" and limit == 1 and kind == "string":
        return "Enter a value."
    unit = _UNITS.get(kind, "character")
    if limit != 1:
        unit = {"entry": "entries"}.get(unit, unit + "s")
    return f"Use at least {limit} {unit}." if code == "min_length" else f"Use at most {limit} {unit}."


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
