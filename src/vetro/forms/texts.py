"""What problems say where the package has no text of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vetro.diagnostics import Text

_TYPE_NAMES: Final = {
    "string": Text("text"),
    "integer": Text("a whole number"),
    "number": Text("a number"),
    "boolean": Text("yes or no"),
    "array": Text("a list"),
    "object": Text("a group of values"),
}
#: JSON type -> what there is one of, and several.
_UNITS: Final = {
    "string": (Text("character"), Text("characters")),
    "array": (Text("item"), Text("items")),
    "object": (Text("entry"), Text("entries")),
}


def message_of(rule: Mapping[str, Any], kind: str = "string") -> str:
    """The text for a rule that does not hold; ``kind`` is the JSON type of the value."""
    code, limit = str(rule["code"]), rule.get("limit")
    if code in ("min_length", "max_length"):
        return _length(code, int(limit or 0), kind)
    if code == "type":
        names = [_TYPE_NAMES[t] for t in rule.get("types", ()) if t != "null"]
        return Text("This must be {what}.", what=_either(names)) if names else Text("Nothing may be entered here.")
    if code == "invalid_choice":
        shown = ", ".join(_shown(value) for value in rule.get("values", ())[:10])
        return (
            Text("Choose one of: {shown}.", shown=shown)
            if len(rule.get("values", ())) <= 10
            else Text("Choose one of the offered values.")
        )
    return {
        "required": Text("Enter a value."),
        "minimum": Text("This must be {limit} or more.", limit=limit),
        "maximum": Text("This must be {limit} or less.", limit=limit),
        "exclusive_minimum": Text("This must be more than {limit}.", limit=limit),
        "exclusive_maximum": Text("This must be less than {limit}.", limit=limit),
        "pattern": Text("This does not have the form that is wanted."),
        "unique": Text("No value may stand here twice."),
        "extra": Text("There is nothing of this name to enter."),
    }[code]


def _either(names: Sequence[Text]) -> Text:
    found = names[0]
    for name in names[1:]:
        found = Text("{first} or {second}", first=found, second=name)
    return found


def _length(code: str, limit: int, kind: str) -> str:
    if code == "min_length" and limit == 1 and kind == "string":
        return Text("Enter a value.")
    one, several = _UNITS.get(kind, _UNITS["string"])
    unit = one if limit == 1 else several
    return (
        Text("Use at least {limit} {unit}.", limit=limit, unit=unit)
        if code == "min_length"
        else Text("Use at most {limit} {unit}.", limit=limit, unit=unit)
    )


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
