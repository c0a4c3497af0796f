"""Walks over the objects of a model, and copies of its parts."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from vetro.model.header import header_of, id_of, is_class_key
from vetro.model.paths import pointer

SCALARS: Final = frozenset({str, int, float, bool, type(None)})
#: Where something stands: where what holds it stands, and the key or index in that. None: at the top.
Steps: TypeAlias = "tuple[Steps, Any] | None"
#: State of an entry that `rebuilt` takes as it is.
AS_IT_IS: Final[Any] = object()


class Place:
    """An object of a tree and where it stands."""

    __slots__ = ("around", "object", "property", "steps")

    def __init__(self, obj: Mapping[str, Any], around: Place | None, name: str | None, steps: Steps) -> None:
        self.object: Any = obj
        #: The object that owns it; None for one that no object is around.
        self.around = around
        #: The property of the owner that holds it, at whatever depth.
        self.property = name
        self.steps = steps

    @property
    def owner(self) -> str | None:
        """The id of the nearest object around it that has one."""
        around = self.around
        while around is not None:
            found = id_of(around.object)
            if found is not None:
                return found
            around = around.around
        return None

    @property
    def path(self) -> str:
        """The JSON pointer to it."""
        steps, found = self.steps, []
        while steps is not None:
            steps, step = steps
            found.append(step)
        return pointer(*reversed(found))


def walk(value: Any) -> Iterator[Place]:
    """Every object of a tree, owners before what they own, in the order of the tree. Headers are not looked into."""
    stack: list[tuple[Any, Place | None, str | None, Steps]] = [(value, None, None, None)]
    while stack:
        item, around, name, steps = stack.pop()
        if isinstance(item, Mapping):
            if header_of(item) is not None:
                around = Place(item, around, name, steps)
                yield around
                stack += [
                    (part, around, key, (steps, key))
                    for key, part in reversed(list(item.items()))
                    if part.__class__ not in SCALARS and key != "?"
                ]
            else:
                stack += [
                    (part, around, name, (steps, key))
                    for key, part in reversed(list(item.items()))
                    if part.__class__ not in SCALARS and key != "?"
                ]
        elif isinstance(item, (list, tuple)):
            stack += [
                (part, around, name, (steps, index))
                for index, part in reversed(list(enumerate(item)))
                if part.__class__ not in SCALARS
            ]


def objects(value: Any) -> Iterator[Any]:
    """Every object of a tree, owners before what they own."""
    return (place.object for place in walk(value))


def by_id(value: Any) -> dict[str, Any]:
    """The objects of a tree that have an id, by that."""
    return {own: obj for obj in objects(value) if (own := id_of(obj)) is not None}


def find(value: Any, object_id: str) -> Any | None:
    """The object with an id, itself; None where there is none."""
    return next((obj for obj in objects(value) if id_of(obj) == object_id), None)


def has_class_keys(value: Any) -> bool:
    """Whether there may be a definition in the second form anywhere in a tree; whether there is one its class says."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            if "?" not in item and any(_defines(key, item[key]) for key in item if key.__class__ is str and ":" in key):
                return True
            item = item.values()
        elif not isinstance(item, (list, tuple)):
            continue
        for part in item:
            if part.__class__ not in SCALARS:
                stack.append(part)
    return False


def _defines(key: str, value: Any) -> bool:
    return is_class_key(key) and (value is None or isinstance(value, Mapping))


def references(value: Any, known: Container[str]) -> Iterator[str]:
    """The ids among ``known`` that a value names; objects in it are not looked into."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item in known:
                yield item
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        elif isinstance(item, Mapping) and header_of(item) is None:
            stack.extend(reversed(list(item.values())))


def users(value: Any, gone: Container[str]) -> Iterator[tuple[Any, str, str]]:
    """(object, property, id) for each reference to one of ``gone``, from objects inside ``value`` that stay."""
    for obj in objects(value):
        if id_of(obj) not in gone:
            for key, inner in obj.items():
                if key != "?":
                    yield from ((obj, key, target) for target in dict.fromkeys(references(inner, gone)))


def rebuilt(
    value: Any,
    entries: Callable[[Mapping[str, Any], Any], Iterable[tuple[str, Any, Any]]],
    state: Any = None,
    text: Callable[[str, Any], Any] | None = None,
) -> Any:
    """A copy of a tree with other entries in its mappings.

    ``entries(mapping, state)`` gives the keys and values of the copy, and for each value the state that is passed on
    below it (`AS_IT_IS`: the value is not copied). ``text(text, state)`` is what stands in the place of a text.
    """
    root: list[Any] = [None]
    work: list[tuple[Any, Any, Any, Any]] = [(value, state, root, 0)]
    while work:
        item, here, holder, key = work.pop()
        made: Any
        if isinstance(item, Mapping):
            holder[key] = made = {}
            for name, part, below in entries(item, here):
                made[name] = part
                if below is not AS_IT_IS and (text is not None or part.__class__ not in SCALARS):
                    work.append((part, below, made, name))
        elif isinstance(item, (list, tuple)):
            holder[key] = made = list(item)
            work += [
                (part, here, made, index)
                for index, part in enumerate(item)
                if text is not None or part.__class__ not in SCALARS
            ]
        else:
            holder[key] = text(item, here) if text is not None and isinstance(item, str) else item
    return root[0]


def copied(value: Any) -> Any:
    """A copy of a tree that shares nothing with it."""
    return rebuilt(value, lambda mapping, state: ((key, part, state) for key, part in mapping.items()))
