"""Draft-04 schemas in the words of draft 2020-12, which the v2 API and the forms use."""

from __future__ import annotations

from typing import Any, Final

DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
_LIMITS: Final = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def to_2020_12(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of `schema.class_schemas` as one of draft 2020-12; ``schema`` stays as it is.

    Exclusive limits become numbers, positional ``items`` become ``prefixItems``; keywords of our own stay.
    """
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema":
            result[key] = DRAFT_2020_12
        elif key in _LIMITS:
            result[_LIMITS[key] if schema.get(_LIMITS[key]) else key] = value
        elif key in _LIMITS.values():
            continue
        elif key == "items" and isinstance(value, list):
            result["prefixItems"] = [to_2020_12(item) for item in value]
        elif key == "additionalItems":
            result["items"] = to_2020_12(value)
        elif key == "properties":
            result[key] = {name: to_2020_12(part) for name, part in value.items()}
        elif key == "allOf":
            result[key] = [to_2020_12(part) for part in value]
        elif key in ("items", "additionalProperties", "context") and isinstance(value, dict):
            result[key] = to_2020_12(value)
        else:
            result[key] = value
    return result
