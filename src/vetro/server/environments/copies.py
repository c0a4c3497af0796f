"""Objects for a second life: new ids, and nothing in them that only a deployment can have written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from vetro.packages.hot.classes import STACK_NAME
from vetro.server.environments import content
from vetro.server.ids import new_id


class Declared(NamedTuple):
    """What a class says of a property."""

    usage: str
    #: A text among its values may be the id of an object.
    objects: bool


#: The header's ``type`` -> property -> what its class says; nothing for a class that is not known.
Classes = Callable[[str], Mapping[str, Declared]]

#: Classes of ours that remember in attributes what they made; those of HOT packages remember a name of a stack.
_RESOURCES = ("io.murano.resources.", "io.murano.SharedIp")
#: Ids that nobody writes by hand: such a text is no accident.
_RANDOM = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def properties_of(packages: Iterable[Any], type_text: str) -> dict[str, Declared]:
    """The properties of a class of loaded packages. Its file is read, nothing of it runs. Raises `MuranoError`."""
    from vetro.muranopl.api import Engine
    from vetro.muranopl.tools.inspect import inspect_class

    written, _, package = type_text.partition("@")
    name, _, version = written.partition("/")
    session = Engine(packages, seed=0).session()
    try:
        found = inspect_class(session, name, version or None, package or None)
    finally:
        session.close()
    return {p.name: Declared(p.usage, p.objects) for p in found.properties}


def renewed(value: Any, classes: Classes) -> Any:
    """The same objects with fresh ids; references among them follow.

    A text that equals an id is a reference where the class says that the property holds objects, or when the id is a
    random one. So an application called ``web`` whose id is ``web`` keeps its name.
    """
    ids = {content.id_of(obj): new_id() for obj in content.objects_in(value)}
    ids.pop(None, None)
    random = {own: fresh for own, fresh in ids.items() if isinstance(own, str) and _RANDOM.fullmatch(own)}
    return _with_ids(value, ids, random, classes, random)


def has_resources(model: Mapping[str, Any]) -> bool:
    """Whether a model remembers resources that its deployments made in a cloud, and so will not make them again."""
    return any(
        isinstance(entry, (list, tuple))
        and len(entry) == 4
        and (str(entry[1]).startswith(_RESOURCES) or entry[2] == STACK_NAME)
        and bool(entry[3])
        for entry in model.get("Attributes") or ()
    )


def undeployed(value: Any, classes: Classes, known: Mapping[str, Any] | None = None) -> Any:
    """The objects without values of usage ``Out``, and without actions. ``known``: id -> object whose ``Out`` values
    are taken instead, for objects that exist."""
    if isinstance(value, list):
        return [undeployed(item, classes, known) for item in value]
    if not isinstance(value, dict):
        return value
    header = value.get("?")
    if not isinstance(header, dict):
        return {key: undeployed(item, classes, known) for key, item in value.items()}
    present = (known or {}).get(content.id_of(value))
    declared = classes(str(header.get("type") or ""))
    made: dict[str, Any] = {"?": {key: item for key, item in header.items() if key not in ("_actions", "updated")}}
    if present is not None and "_actions" in present["?"]:
        made["?"]["_actions"] = present["?"]["_actions"]
    for name, item in value.items():
        if name == "?":
            continue
        if name in declared and declared[name].usage == "Out":
            if present is not None and name in present:
                made[name] = present[name]
        else:
            made[name] = undeployed(item, classes, known)
    return made


def _with_ids(
    value: Any, ids: Mapping[Any, str], random: Mapping[Any, str], classes: Classes, here: Mapping[Any, str]
) -> Any:
    """``here``: the ids that a text in this place may stand for."""
    if isinstance(value, str):
        return here.get(value, value)
    if isinstance(value, list):
        return [_with_ids(item, ids, random, classes, here) for item in value]
    if not isinstance(value, dict):
        return value
    header = value.get("?")
    if not isinstance(header, dict):
        return {key: _with_ids(item, ids, random, classes, here) for key, item in value.items()}
    declared = classes(str(header.get("type") or ""))
    own = ids.get(header.get("id"))
    made: dict[str, Any] = {}
    for key, item in value.items():
        if key == "?":
            made[key] = {k: v for k, v in header.items() if k != "_actions"} | ({"id": own} if own else {})
        else:
            said = declared.get(key)
            made[key] = _with_ids(item, ids, random, classes, ids if said is None or said.objects else random)
    return made
