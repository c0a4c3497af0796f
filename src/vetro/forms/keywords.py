"""One flat set of keywords out of a schema with ``allOf``: what all its parts say together.

Forms cannot show "all of these schemas"; they show one range, one list of patterns, one list of choices. The parts come
from checks with messages of their own, from redeclared properties and from ``context`` schemas of objects around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vetro.forms.values import contains

Schema = Mapping[str, Any]
_LARGEST: Final = frozenset(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"))
_SMALLEST: Final = frozenset(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"))
_EITHER: Final = frozenset(("serverChecks", "secret", "template", "uniqueItems"))
_PARTS: Final = frozenset(("items", "additionalProperties", "propertyNames"))
#: Keyword -> the code of the problem when it is not met.
CODES: Final[Mapping[str, str]] = {
    "minimum": "minimum",
    "exclusiveMinimum": "minimum",
    "maximum": "maximum",
    "exclusiveMaximum": "maximum",
    "minLength": "min_length",
    "minItems": "min_length",
    "minProperties": "min_length",
    "maxLength": "max_length",
    "maxItems": "max_length",
    "maxProperties": "max_length",
    "enum": "invalid_choice",
    "pattern": "pattern",
}


def flat(schema: Schema) -> dict[str, Any]:
    """``schema`` without ``allOf``, ``pattern`` and ``message``.

    Patterns are in ``patterns``, a list of (pattern, message or empty); other messages in ``messages`` by code.
    ``type``, where there is one, is a list.
    """
    result: dict[str, Any] = {}
    message = schema.get("message", "")
    for key, value in schema.items():
        if key == "type":
            result["type"] = list(value) if isinstance(value, (list, tuple)) else [value]
        elif key == "pattern":
            result.setdefault("patterns", []).append((value, message))
        elif key not in ("allOf", "message"):
            result[key] = value
        if message and key in CODES and key != "pattern":
            result.setdefault("messages", {})[CODES[key]] = message
    for part in schema.get("allOf", ()):
        result = both(result, flat(part))
    return result


def both(a: dict[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """What two flat schemas say together. Titles, hints and defaults are those of ``a``."""
    result = dict(a)
    for key, value in b.items():
        if key not in result:
            result[key] = value
        else:
            result[key] = _combined(key, result[key], value)
    if "enum" in a and "enum" in b:
        result["enum"] = [value for value in a["enum"] if contains(b["enum"], value)]
    return result


def _combined(key: str, a: Any, b: Any) -> Any:
    if key in _LARGEST:
        return max(a, b)
    if key in _SMALLEST:
        return min(a, b)
    if key in _EITHER:
        return a or b
    if key == "type":
        return _types(a, b)
    if key == "patterns":
        return [*a, *(pattern for pattern in b if pattern not in a)]
    if key == "messages":
        return {**b, **a}
    if key == "required":
        return [*a, *(name for name in b if name not in a)]
    if key in _PARTS:
        return together(a, b)
    if key == "prefixItems":
        longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
        return [together(part, shorter[i]) if i < len(shorter) else part for i, part in enumerate(longer)]
    if key == "properties":
        return {**b, **{name: together(part, b[name]) if name in b else part for name, part in a.items()}}
    if key == "context":
        return {"allOf": [a, b]}
    return a


def together(a: Any, b: Any) -> Any:
    """A schema (or True, False) for what both accept."""
    if a is False or b is False:
        return False
    if a is True or a is None:
        return b
    if b is True or b is None or a == b:
        return a
    return {**a, "allOf": [*a.get("allOf", ()), b]}


def _types(a: Iterable[str], b: Iterable[str]) -> list[str]:
    b = list(b)
    known = [kind for kind in a if kind in b or (kind == "integer" and "number" in b)]
    return known + (["integer"] if "number" in a and "integer" in b and "integer" not in known else [])
