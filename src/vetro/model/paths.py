"""Parts of plain data by their address: JSON pointers, and paths of keys, ids of objects and indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.model.header import id_of


class _Absent:
    """No value at all, which is not null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()


class NoSuchPart(LookupError):
    """A path leads to nothing."""

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__("/".join(path))
        self.path = path


class NotReplaceable(ValueError):
    """A path leads to an object by its id, which stays as long as the object does."""


# -- JSON pointers -----------------------------------------------------------------------------------------------------


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of ``steps``."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def steps_of(path: str) -> list[str]:
    """The steps of a JSON pointer; ``""`` has none. Raises ValueError for what is no pointer."""
    if path == "":
        return []
    if not path.startswith("/"):
        raise ValueError(f"a JSON pointer begins with '/', this does not: {path!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def at(value: Any, path: str) -> Any:
    """The part of ``value`` that ``path`` leads to; `ABSENT` where it leads nowhere."""
    for step in steps_of(path):
        value = child(value, step)
        if value is ABSENT:
            break
    return value


def child(value: Any, step: str | int) -> Any:
    """One step into a mapping or list; `ABSENT` where there is nothing."""
    if isinstance(value, Mapping):
        return value.get(str(step), ABSENT)
    if is_list(value) and str(step).isdecimal() and int(step) < len(value):
        return value[int(step)]
    return ABSENT


def is_list(value: Any) -> bool:
    """Whether ``value`` is a JSON array."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


# -- paths of keys, ids and indexes ------------------------------------------------------------------------------------


def part(value: Any, path: Sequence[str], *, by_index: bool = True) -> Any:
    """The part at a path. In a list a step is the id of an object or (``by_index``) an index. Raises `NoSuchPart`."""
    for step in path:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and (index := index_of(value, step, by_index=by_index)) is not None:
            value = value[index]
        else:
            raise NoSuchPart(path)
    return value


def replace(value: Any, path: Sequence[str], new: Any) -> None:
    """Puts ``new`` at a path that ends in a key or an index. Raises `NoSuchPart`, `NotReplaceable`."""
    holder, last = part(value, path[:-1]), path[-1]
    if isinstance(holder, dict):
        holder[last] = new
        return
    if not isinstance(holder, list):
        raise NoSuchPart(path)
    if index_of(holder, last, by_index=False) is not None:
        raise NotReplaceable
    index = index_of(holder, last)
    if index is None:
        raise NoSuchPart(path)
    holder[index] = new


def remove(value: Any, path: Sequence[str]) -> None:
    """Takes out a key, or the object with an id. Raises `NoSuchPart`."""
    holder, last = part(value, path[:-1]), path[-1]
    if isinstance(holder, dict) and last in holder:
        del holder[last]
    elif isinstance(holder, list) and (index := index_of(holder, last, by_index=False)) is not None:
        del holder[index]
    else:
        raise NoSuchPart(path)


def index_of(items: Sequence[Any], step: str, *, by_index: bool = True) -> int | None:
    """The index of the object with the id ``step``, else the index that ``step`` is."""
    for index, item in enumerate(items):
        if id_of(item) == step:
            return index
    if by_index and step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(items):
        return int(step)
    return None
