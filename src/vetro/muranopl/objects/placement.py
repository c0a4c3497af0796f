"""Where objects are written that their owner does not write (SEMANTICS 12.3).

After the first pass of a `Writer` ids stand for objects that were not written so far. Those that an owner among the
unwritten ones holds are written there; all others where they are met first, in the order of the document.
"""

from __future__ import annotations

import collections.abc as abc
from typing import Any, Protocol

from vetro.muranopl.contracts.runtime import unwrap
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.values import SCALARS, HostObject

Place = tuple[Any, Any, MuranoObject]


class TreeWriter(Protocol):
    """What writes the objects: the serialiser's `Writer`."""

    written: set[MuranoObject]
    pending: list[Place]

    def start(self, obj: MuranoObject, target: dict[Any, Any]) -> None: ...
    def drain(self) -> None: ...
    def properties(self, obj: MuranoObject) -> tuple[tuple[str, str], ...]: ...


def place_unowned(writer: TreeWriter, tree: dict[Any, Any]) -> None:
    """Completes ``tree``: every object that an id in it stands for is written in full somewhere."""
    places = [p for p in writer.pending if p[2] not in writer.written]
    writer.pending.clear()
    if not places:
        return
    held = _held(writer, [p[2] for p in places])
    deferred: list[Place] = []
    stack = _in_document_order(tree, places)
    while stack or deferred:
        if not stack:
            # What is left is held by owners that only it leads to: a circle. The first one opens it.
            deferred = [p for p in deferred if p[2] not in writer.written]
            if not deferred:
                return
            held.discard(deferred[0][2])
            stack.append(deferred.pop(0))
        place = stack.pop()
        container, key, obj = place
        if obj in writer.written:
            continue
        if obj in held:
            deferred.append(place)
            continue
        child: dict[Any, Any] = {}
        container[key] = child
        writer.start(obj, child)
        writer.drain()
        inner = [p for p in writer.pending if p[2] not in writer.written]
        writer.pending.clear()
        if inner:
            stack.extend(_in_document_order(child, inner))


def _held(writer: TreeWriter, objects: list[MuranoObject]) -> set[MuranoObject]:
    """Of the unwritten objects that ``objects`` lead to, those whose (unwritten) owner has them in a property."""
    held: set[MuranoObject] = set()
    seen = set(objects)
    work = list(seen)
    while work:
        obj = work.pop()
        for value in held_objects(obj, writer.properties(obj)):
            if value in writer.written:
                continue
            if value._owner is obj:
                held.add(value)
            if value not in seen:
                seen.add(value)
                work.append(value)
    return held


def held_objects(obj: MuranoObject, properties: tuple[tuple[str, str], ...]) -> list[MuranoObject]:
    """The objects in the values of these properties, at any depth of lists and mappings."""
    found: list[MuranoObject] = []
    work: list[Any] = [getattr(obj, attr, None) for _, attr in properties]
    work.reverse()
    while work:
        value = work.pop()
        if value.__class__ in SCALARS:
            continue
        if isinstance(value, HostObject):
            inner = unwrap(value)
            if inner is not None:
                found.append(inner)
        elif isinstance(value, abc.Mapping):
            work.extend(value.values())
            work.extend(key for key in value if key.__class__ not in SCALARS)
        elif isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes)):
            work.extend(value)
    return found


def _in_document_order(tree: dict[Any, Any], places: list[Place]) -> list[Place]:
    """The places in the order of the document, the first one last (it is taken from the end)."""
    wanted = {(id(container), key): (container, key, obj) for container, key, obj in places}
    found: list[Place] = []
    work: list[Any] = [tree]
    while work:
        node = work.pop()
        if node.__class__ is tuple:
            found.append(node)
            continue
        pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
        for key, value in reversed(pairs):
            place = wanted.get((id(node), key))
            if place is not None:
                work.append(place)
            elif value.__class__ is dict or value.__class__ is list:
                work.append(value)
    found.reverse()
    return found
