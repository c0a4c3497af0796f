"""Object models as the API shows and addresses them (API.md 5, 7): parts by path, applications called services.

Inside, the root object holds its applications under ``applications``, as the engine wants it. Clients know that list
as ``services``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.errors import Invalid, NotFound, TooLarge

#: Objects of a model that a request compares or draws.
MOST_COMPARED: Final = 10_000
_MISSING = object()


def view_of(root: Mapping[str, Any] | None) -> dict[str, Any]:
    """The root object as clients see it; shares everything below."""
    if root is None:
        return {}
    return {("services" if key == "applications" else key): value for key, value in root.items()}


def root_of(view: Mapping[str, Any]) -> dict[str, Any]:
    """The root object from what clients see of it."""
    return {("applications" if key == "services" else key): value for key, value in view.items()}


def services_of(root: Mapping[str, Any] | None) -> list[Any]:
    """The applications; the list itself where there is one."""
    found = None if root is None else root.get("applications")
    return found if isinstance(found, list) else []


def deployed_objects(model: Mapping[str, Any]) -> dict[str, Any] | None:
    """The root object as it exists outside: what the next task compares with."""
    found: dict[str, Any] | None = model["ObjectsCopy"] if "ObjectsCopy" in model else model.get("Objects")
    return found


def copied(value: Any) -> Any:
    """A deep copy, whatever the depth."""
    with deep_calls():
        return copy.deepcopy(value)


def id_of(obj: Any) -> Any:
    """The id in an object's header, None where there is none."""
    header = obj.get("?") if isinstance(obj, Mapping) else None
    return header.get("id") if isinstance(header, Mapping) else None


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of a tree, owners before what they own."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if isinstance(item.get("?"), dict):
                yield item
            stack.extend(reversed([v for v in item.values() if isinstance(v, (dict, list))]))
        elif isinstance(item, list):
            stack.extend(reversed([v for v in item if isinstance(v, (dict, list))]))


def check_comparable(*roots: Any) -> None:
    """Raises `TooLarge` where one of the models has more objects than a request may compare or draw.

    The work is linear, but all of it holds the interpreter, and with it every other request of the process.
    """
    for root in roots:
        if next(islice(objects_in(root), MOST_COMPARED, None), None) is not None:
            raise TooLarge(
                Text(
                    "the model has more than {most_compared:,} objects, too many to be compared or drawn",
                    most_compared=MOST_COMPARED,
                ),
                hint=Text("read the model itself, or let a task plan the deployment"),
            )


def check_services(given: Any) -> list[dict[str, Any]]:
    """Applications as a list, if each of them is an object with a class. Raises `Invalid`."""
    services = given if isinstance(given, list) else [given]
    for service in services:
        header = service.get("?") if isinstance(service, dict) else None
        if not isinstance(header, dict) or not isinstance(header.get("type"), str) or not header["type"].strip():
            raise Invalid(
                Text("an application must be an object with a header '?' that names its class"),
                hint=Text('for example {{"?": {{"type": "com.example.App", "id": "…"}}, "name": "my app"}}'),
            )
    for obj in objects_in(services):
        own = obj["?"].get("id")
        if own is not None and (not isinstance(own, str) or not own or len(own) > 255):
            raise Invalid(Text("the id of an object must be text of at most 255 characters"))
    return services


def check_ids(root: Mapping[str, Any]) -> None:
    """Raises `Invalid` when two objects of a model have the same id."""
    seen: set[str] = set()
    for obj in objects_in(root):
        own = obj["?"].get("id")
        if own is None:
            continue
        if own in seen:
            raise Invalid(
                Text("two objects of the model have the id '{own}'", own=own),
                hint=Text("give each object an id of its own"),
            )
        seen.add(own)


def part(value: Any, path: Sequence[str], *, by_index: bool = True) -> Any:
    """The part of a model at a path of keys, ids of objects and indexes. Raises `NotFound`."""
    for step in path:
        value = _step(value, step, by_index)
        if value is _MISSING:
            raise NotFound(Text("There is nothing at '{path}'.", path="/".join(path)))
    return value


def replace(value: Any, path: Sequence[str], new: Any) -> None:
    """Puts ``new`` at a path that ends in a key or an index. Raises `NotFound`, `Invalid`."""
    holder, last = part(value, path[:-1]), path[-1]
    if isinstance(holder, dict):
        holder[last] = new
    elif isinstance(holder, list):
        if any(id_of(item) == last for item in holder):
            raise Invalid(Text("an object cannot be replaced as a whole by its id"), hint=Text("change its properties"))
        index = _index(holder, last)
        if index is None:
            raise NotFound(Text("There is nothing at '{path}'.", path="/".join(path)))
        holder[index] = new
    else:
        raise NotFound(Text("There is nothing at '{path}'.", path="/".join(path)))


def remove(value: Any, path: Sequence[str]) -> None:
    """Takes out a key, or the object with an id. Raises `NotFound`."""
    holder, last = part(value, path[:-1]), path[-1]
    if isinstance(holder, dict) and last in holder:
        del holder[last]
        return
    if isinstance(holder, list):
        for index, item in enumerate(holder):
            if id_of(item) == last:
                del holder[index]
                return
    raise NotFound(Text("There is nothing at '{path}'.", path="/".join(path)))


def _step(value: Any, step: str, by_index: bool) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _MISSING)
    if isinstance(value, list):
        for item in value:
            if id_of(item) == step:
                return item
        index = _index(value, step) if by_index else None
        return _MISSING if index is None else value[index]
    return _MISSING


def _index(items: list[Any], step: str) -> int | None:
    if step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(items):
        return int(step)
    return None
