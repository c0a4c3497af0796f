"""Operations on a package, from their JSON to the values they leave (API.md 3, PATCH)."""

from __future__ import annotations

from typing import Any

from vetro.server.catalog import limits
from vetro.server.catalog.models import Package
from vetro.server.catalog.storage import storable
from vetro.server.errors import Forbidden, Invalid, NotFound

_LISTS = ("tags", "categories")
_OPERATIONS = {
    "tags": ("add", "replace", "remove"),
    "categories": ("add", "replace", "remove"),
    "name": ("replace",),
    "description": ("replace",),
    "enabled": ("replace",),
    "is_public": ("replace",),
}
_TYPES = {"name": str, "description": str, "enabled": bool, "is_public": bool, "tags": list, "categories": list}
_WORDS = {str: "string", bool: "boolean", list: "array"}


def changes(patch: Any, package: Package) -> dict[str, Any]:
    """The values that the package has after all operations, of those fields that they name.

    Raises `Invalid`, `Forbidden` (unknown field or operation), `NotFound` (removes what is not there).
    """
    if not isinstance(patch, list):
        raise Invalid("JSON-patch must be a list.")
    if len(patch) > limits.MOST_OPERATIONS:
        raise Invalid(f"JSON-patch has {len(patch):,} operations, {limits.MOST_OPERATIONS:,} at most.")
    found: dict[str, Any] = {}
    for operation in patch:
        field, op, value = _operation(operation)
        if field in _LISTS and op != "replace":
            before = found.get(field, package.tag_names if field == "tags" else package.category_names)
            value = _merged(field, op, list(before), value)
        if field == "tags":
            limits.check_tags(value)
        elif field == "categories" and len(value) > limits.MOST_VALUES:
            raise Invalid(f"A package is in at most {limits.MOST_VALUES} categories")
        found[field] = value
    return found


def _operation(operation: Any) -> tuple[str, str, Any]:
    """(field, operation, value), all checked."""
    if not isinstance(operation, dict):
        raise Invalid("Operations must be JSON objects.")
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(op, str):
        raise Invalid("Unable to find 'op' in JSON Schema change")
    if not isinstance(path, str):
        raise Invalid("Unable to find 'path' in JSON Schema change")
    if not path.startswith("/"):
        raise Invalid(f'Pointer `{storable(path)[:80]}` does not start with "/".')
    field = path[1:].replace("~1", "/").replace("~0", "~")
    if "/" in path[1:]:
        raise Invalid("Nested paths are not allowed")
    if field not in _OPERATIONS:
        raise Forbidden(f"Attribute '{storable(field)[:80]}' is invalid")
    if op not in _OPERATIONS[field]:
        allowed = ", ".join(_OPERATIONS[field])
        raise Forbidden(
            f"Method '{storable(op)[:80]}' is not allowed for a path with name '{field}'."
            f" Allowed operations are: {allowed}"
        )
    if "value" not in operation:
        raise Invalid(f'Operation "{op}" requires a member named "value".')
    value: Any = operation["value"]
    kind = _TYPES[field]
    if not isinstance(value, kind):
        raise Invalid(f"The value of '{field}' is not of type '{_WORDS[kind]}'")
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise Invalid(f"The value of '{field}' has to be a list of texts")
    if storable(value) != value:
        raise Invalid(f"The value of '{field}' has a character that cannot be stored")
    return field, op, value


def _merged(field: str, op: str, items: list[str], value: list[str]) -> list[str]:
    if op == "add":
        return list(dict.fromkeys([*items, *value]))
    left = dict.fromkeys(items)
    for item in value:
        if item not in left:
            raise NotFound(f"Value '{item[:80]}' of property '{field}' does not exist.")
        del left[item]
    return list(left)
