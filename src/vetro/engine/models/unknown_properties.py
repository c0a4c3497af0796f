"""Names that a class does not declare: values of a model under them, which nothing reads or keeps, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.model.header import id_of, label_of
from vetro.model.tree import walk
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.session import Session
from vetro.yaql.didyoumean import suggest

#: Warnings at most.
MOST = 100
#: What the service keeps in the model of an environment, as the recorded API does, for those who read it there.
_OF_ENVIRONMENTS = frozenset({"description_text"})
#: Longer names are cut in texts.
_LONGEST = 80


class UnknownProperty(MuranoError):
    """An answer for something that the class does not have."""

    kind = "bad-argument"
    code = "ENG121"


def unknown_property(class_name: str, path: str, name: str, known: Iterable[str]) -> UnknownProperty:
    """The error for an answer without property, with the likely one."""
    names = sorted(known)
    close = suggest(name, names)
    hint = f"did you mean '{close}'?" if close else f"it has {', '.join(names)}" if names else "it takes no input"
    return UnknownProperty(f"{path}: class {class_name} has no input property '{name}'", hint=hint)


def undeclared(
    session: Session, model: Mapping[str, Any], find: Callable[[str], Any] | None = None
) -> list[dict[str, Any]]:
    """Each is {objectId, name (of the object), class, property}, in the order of the model; `MOST` at most.

    ``find`` gives the object with an id, or None; without, the session has loaded the model. What does not stand for an
    object is left out.
    """
    find = find or session.store.get
    found: list[dict[str, Any]] = []
    for place in walk(model.get("Objects")):
        own = id_of(place.object)
        obj = find(own) if own is not None else None
        if obj is None:
            continue
        declared, given = obj._type.properties, session.store.plans[obj._type].init_arguments
        for name in place.object:
            if name == "?" or name in declared or name in given:
                continue
            if place.owner is None and name in _OF_ENVIRONMENTS:
                continue
            if len(found) >= MOST:
                return found
            told = {"objectId": own, "name": label_of(place.object), "class": obj._type.name, "property": str(name)}
            found.append(told)
    return found


def warning_text(one: Mapping[str, Any]) -> Text:
    """What is said of one of them. The value itself is not told: it may be a secret."""
    return Text(
        "'{object}': the class {type} has no property '{property}', so its value is not used, and not kept",
        object=one["name"],
        type=one["class"],
        property=str(one["property"])[:_LONGEST],
    )
