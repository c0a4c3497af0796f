"""Changes of a model as a list of operations (API.md 5, ``application/env-model-json-patch``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from vetro.diagnostics import Text
from vetro.model import paths
from vetro.model.environment import applications_of, root_of, view_of
from vetro.server.caller import Caller
from vetro.server.environments import drafts, limits
from vetro.server.environments.errors import refusing
from vetro.server.errors import Forbidden, Invalid, NotFound

_ALL: Final = ("add", "replace", "remove")
_REPLACE: Final = ("replace",)

_NETWORK: Final[Mapping[str, Any]] = {"type": ["object", "boolean", "null"]}
#: Path -> operations that are allowed there. Below a path without an entry everything is.
_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "": (),
    "?": (),
    "?/id": (),
    "?/type": _REPLACE,
    "name": _REPLACE,
    "region": _REPLACE,
    "defaultNetworks": _REPLACE,
    "defaultNetworks/environment": _REPLACE,
    "defaultNetworks/flat": _REPLACE,
    "services": _ALL,
}
#: What a model must be like after a change.
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["?", "name"],
    "properties": {
        "?": {
            "type": "object",
            "required": ["id", "type"],
            "properties": {"id": {"type": "string"}, "type": {"type": "string", "minLength": 1}},
        },
        "name": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"\S"},
        "region": {"type": ["string", "null"]},
        "regions": {"type": "object"},
        "defaultNetworks": {
            "type": ["object", "null"],
            "properties": {"environment": _NETWORK, "flat": _NETWORK},
        },
        "services": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["?"],
                "properties": {"?": {"type": "object", "required": ["type"]}},
            },
        },
    },
}
_valid = jsonschema_rs.validator_for(dict(_SCHEMA))


def patch(caller: Caller, environment_id: str, session_id: str, given: Any) -> dict[str, Any]:
    """Applies operations to a draft, all or none; the whole model after them.

    Raises `Invalid`, `Forbidden` for an operation that is not allowed at its path, `NotFound` for a path that is not
    there, and what `drafts.change` raises.
    """
    operations = _operations(given)

    def edit(root: dict[str, Any]) -> None:
        view = view_of(root)
        for operation, path, value in operations:
            _apply(view, operation, path, value)
        check(view)
        root.clear()
        root.update(root_of(view))
        limits.check_services(applications_of(root))

    _, root = drafts.change(caller, environment_id, session_id, edit, what="patched", stamped=False)
    return view_of(root)


def check(view: Mapping[str, Any]) -> None:
    """Raises `Invalid` for a model that lacks what every model has."""
    for error in _valid.iter_errors(view):
        place = "/".join(str(step) for step in error.instance_path)
        raise Invalid(Text("{message} (at /{place})", message=error.message, place=place))


def _operations(given: Any) -> list[tuple[str, list[str], Any]]:
    if not isinstance(given, list) or not given:
        raise Invalid(
            Text("the body must be a list of operations"),
            hint='[{"op": "replace", "path": "/name", "value": "…"}]',
        )
    found = []
    for item in given:
        if not isinstance(item, Mapping):
            raise Invalid(Text("each operation must be an object with the keys 'op', 'path' and 'value'"))
        for key in ("op", "path", "value"):
            if key not in item:
                raise Invalid(Text("an operation lacks '{key}'", key=key))
        operation, path = item["op"], item["path"]
        if not isinstance(operation, str) or not isinstance(path, str):
            raise Invalid(Text("'op' and 'path' must be text"))
        if not path.startswith("/"):
            raise Invalid(Text('Pointer `{path}` does not start with "/".', path=path))
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
        _check_allowed(operation, "/".join(steps))
        limits.check_depth(item["value"], f"the value for '{path}'")
        found.append((operation, steps, item["value"]))
    return found


def _check_allowed(operation: str, path: str) -> None:
    if path == "applications" or path.startswith("applications/"):
        raise Forbidden(Text("'applications' cannot be changed here"), hint=Text("applications are at /services"))
    allowed = _ALLOWED.get(path, _ALL)
    if operation not in allowed:
        which = ", ".join(allowed) if allowed else Text("no operations")
        raise Forbidden(
            Text(
                "Method '{operation}' is not allowed for a path with name '{path}'. Allowed operations are: {which}",
                operation=operation,
                path=path,
                which=which,
            )
        )


def _apply(view: dict[str, Any], operation: str, path: list[str], value: Any) -> None:
    with refusing():
        holder: Any = paths.part(view, path[:-1])
        if operation != "add":
            paths.part(view, path)  # it has to be there
    last = path[-1]
    if operation == "add" and isinstance(holder, list):
        if last == "-":
            holder.append(value)
            return
        if not (last.isascii() and last.isdigit() and len(last) < 10 and int(last) <= len(holder)):
            raise NotFound(
                Text("There is no place '{last}' in the list at '/{path}'.", last=last, path="/".join(path[:-1]))
            )
        holder.insert(int(last), value)
        return
    place: Any = paths.index_of(holder, last) if isinstance(holder, list) else last
    if not isinstance(holder, (dict, list)):
        raise NotFound(Text("There is nothing at '/{path}'.", path="/".join(path)))
    if operation == "remove":
        del holder[place]
    else:
        holder[place] = value
