"""Objects for a second life: new ids, and nothing in them that only a deployment can have written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from vetro.model.header import header_of, id_of, type_of
from vetro.model.tree import AS_IT_IS, by_id, rebuilt


class Declared(NamedTuple):
    """What a class says of a property."""

    usage: str
    #: A text among its values may be the id of an object.
    objects: bool


#: The ``type`` of an object -> property -> what its class says; nothing for a class that is not known.
Classes = Callable[[str], Mapping[str, Declared]]

#: Ids that nobody writes by hand: such a text is no accident.
_RANDOM: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def renewed(value: Any, classes: Classes, new_id: Callable[[], str]) -> Any:
    """The same objects with fresh ids; references among them follow.

    A text that equals an id is a reference where the class says that the property holds objects, or when the id is a
    random one. So an application called ``web`` whose id is ``web`` keeps its name.
    """
    ids = {own: new_id() for own in by_id(value)}
    random = {own: fresh for own, fresh in ids.items() if _RANDOM.fullmatch(own)}

    # The state is the ids that a text in a place may stand for.
    def entries(mapping: Mapping[str, Any], here: Mapping[str, str]) -> Iterator[tuple[str, Any, Any]]:
        header = header_of(mapping)
        declared = classes(type_of(mapping)) if header is not None else {}
        own = ids.get(id_of(mapping) or "")
        for key, item in mapping.items():
            if header is None:
                yield key, item, here
            elif key == "?":
                kept = {name: part for name, part in header.items() if name != "_actions"}
                yield key, kept | ({"id": own} if own else {}), AS_IT_IS
            else:
                said = declared.get(key)
                yield key, item, ids if said is None or said.objects else random

    return rebuilt(value, entries, random, lambda text, here: here.get(text, text))


def undeployed(value: Any, classes: Classes, known: Mapping[str, Any] | None = None) -> Any:
    """The objects without values of usage ``Out``, and without actions.

    ``known``: id -> object whose ``Out`` values and actions are taken instead, for objects that exist.
    """

    def entries(mapping: Mapping[str, Any], state: None) -> Iterator[tuple[str, Any, Any]]:
        header = header_of(mapping)
        if header is None:
            yield from ((key, item, None) for key, item in mapping.items())
            return
        present = (known or {}).get(id_of(mapping) or "")
        declared = classes(type_of(mapping))
        made = {key: item for key, item in header.items() if key not in ("_actions", "updated")}
        if present is not None and "_actions" in present["?"]:
            made["_actions"] = present["?"]["_actions"]
        yield "?", made, AS_IT_IS
        for name, item in mapping.items():
            if name == "?":
                continue
            if name not in declared or declared[name].usage != "Out":
                yield name, item, None
            elif present is not None and name in present:
                yield name, present[name], AS_IT_IS

    return rebuilt(value, entries)
