"""Secret values in object models: marks for clients, masks for people.

A client that reads a model gets the **mark** ``{"secret": "kept"}`` in the place of a secret that is set, and may send
it back, which means "as it was". Forms add ``at``, the pointer within the object where the secret stood, so that lists
may be rearranged. Which properties are secret is said by their classes; whoever calls knows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from vetro.model.header import header_of, id_of, type_of
from vetro.model.paths import ABSENT, at
from vetro.model.tree import AS_IT_IS, by_id, objects, rebuilt
from vetro.yaql.redact import MASK

#: The ``type`` of an object -> names of its secret properties.
SecretNames = Callable[[str], frozenset[str]]
#: Whether a property of a class (name without version) is secret.
Secret = Callable[[str, str], bool]

_SOUNDS_SECRET: Final = re.compile(r"pass(word|wd|phrase)|secret|token|credential|private_?key|api_?key", re.IGNORECASE)


class MarkWithoutSecret(LookupError):
    """A mark stands where no secret is stored: of which property, and of which object (None: a new one)."""

    def __init__(self, name: str, object_id: str | None) -> None:
        super().__init__(name)
        self.name = name
        self.object_id = object_id


def sounds_secret(name: str) -> bool:
    """Whether a property is called password, token or the like."""
    return _SOUNDS_SECRET.search(name) is not None


def mark(path: str | None = None) -> dict[str, str]:
    """The mark of a secret; ``path``: where it stands within its object."""
    return {"secret": "kept"} if path is None else {"secret": "kept", "at": path}


def is_mark(value: Any) -> bool:
    """Whether a client means "as it was"."""
    return isinstance(value, Mapping) and value.get("secret") == "kept" and value.keys() <= {"secret", "at"}


def has_mark(value: Any) -> bool:
    """Whether there is a mark anywhere in a value."""
    stack = [value]
    while stack:
        item = stack.pop()
        if is_mark(item):
            return True
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
    return False


def kept(marked: Mapping[str, Any], stored: Any, path: str) -> Any:
    """The secret of the stored object that a mark, found at ``path``, stands for; `ABSENT` when there is none."""
    place = marked.get("at", path)
    if stored is None or not isinstance(place, str):
        return ABSENT
    try:
        return at(stored, place)
    except ValueError:
        return ABSENT


def conceal(value: Any, secrets: SecretNames) -> Any:
    """A copy with marks in the place of secrets that are set."""

    def entries(mapping: Mapping[str, Any], state: None) -> Iterator[tuple[str, Any, Any]]:
        names = secrets(type_of(mapping)) if header_of(mapping) is not None else ()
        for key, item in mapping.items():
            yield (key, mark(), AS_IT_IS) if key in names and item not in (None, "") else (key, item, None)

    return rebuilt(value, entries)


def without(value: Any, secrets: SecretNames = lambda type_text: frozenset()) -> Any:
    """A copy without secrets, and without marks."""

    def entries(mapping: Mapping[str, Any], state: None) -> Iterator[tuple[str, Any, Any]]:
        names = secrets(type_of(mapping)) if header_of(mapping) is not None else ()
        return ((key, item, None) for key, item in mapping.items() if key not in names and not is_mark(item))

    return rebuilt(value, entries)


def restore(value: Any, stored: Any) -> Any:
    """A copy with the stored values in the place of marks, object by object. Raises `MarkWithoutSecret`."""
    known = by_id(stored)

    def entries(mapping: Mapping[str, Any], state: None) -> Iterator[tuple[str, Any, Any]]:
        own = id_of(mapping)
        before = known.get(own) if own is not None else None
        for key, item in mapping.items():
            if not is_mark(item):
                yield key, item, None
            elif before is None or before.get(key) is None:
                raise MarkWithoutSecret(key, own)
            else:
                yield key, before[key], AS_IT_IS

    return rebuilt(value, entries)


def unset(value: Any, secrets: SecretNames) -> list[dict[str, str]]:
    """The secret properties that have no value: {object, type, property}."""
    return [
        {"object": id_of(obj) or "", "type": type_of(obj), "property": name}
        for obj in objects(value)
        for name in sorted(secrets(type_of(obj)))
        if obj.get(name) in (None, "")
    ]


def masked(name: str, value: Any, class_name: str = "", secret: Secret | None = None) -> Any:
    """A value as people may see it: secrets masked at any depth, objects in it as ``{"?": {id, type}}``.

    A property is secret when ``secret`` says so of it and its class, or when its name sounds so.
    """

    def is_secret(called: str, item: Any) -> bool:
        if item is None or item == "":
            return False
        return sounds_secret(called) or (secret is not None and secret(class_name, called))

    def entries(mapping: Mapping[str, Any], state: None) -> Iterator[tuple[str, Any, Any]]:
        header = header_of(mapping)
        if header is not None:
            yield "?", {"id": header.get("id"), "type": header.get("type")}, AS_IT_IS
            return
        for key, item in mapping.items():
            yield (key, MASK, AS_IT_IS) if is_secret(str(key), item) else (key, item, None)

    return MASK if is_secret(name, value) else rebuilt(value, entries)
