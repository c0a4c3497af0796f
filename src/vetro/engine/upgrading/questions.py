"""What somebody has to answer before upgraded objects can be deployed, and what answers cannot mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.engine.models import check_model
from vetro.model.header import label_of, type_of
from vetro.model.tree import by_id
from vetro.muranopl.contracts.words import text_of
from vetro.muranopl.declarations.tree import PropertyUsage
from vetro.muranopl.session import Session

#: Usages of properties that people give.
GIVEN = frozenset({PropertyUsage.IN, PropertyUsage.CONST, PropertyUsage.IN_OUT})


def questions(
    session: Session, model: Mapping[str, Any], types: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The properties that need a value, and problems that no value mends.

    A question is {object, name, type, property, usage, contract, missing, message}; ``missing``: there is no value,
    else the class refuses the one there is. ``types``: the classes of the objects, by id. The session is of no further
    use.
    """
    known = by_id(model["Objects"])
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    problems = []
    for error in check_model(session, model):
        own, name = error["objectId"], error["property"]
        obj = known.get(own) if own is not None else None
        prop = types[own].properties.get(name) if own in types and name is not None else None
        if obj is None or prop is None or prop.usage not in GIVEN:
            label = None if obj is None else label_of(obj)
            problems.append({"object": own, "name": label, "message": error["message"]})
        elif (own, name) not in asked:
            asked[own, name] = {
                "object": own,
                "name": label_of(obj),
                "type": type_of(obj),
                "property": name,
                "usage": prop.usage.value,
                "contract": text_of(prop.decl.contract),
                "missing": obj.get(name) is None,
                "message": error["message"],
            }
    return list(asked.values()), problems


def answer(root: Any, answers: Mapping[str, Mapping[str, Any]], types: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Puts answers into the objects of a tree, as ``{id: {property: value}}``; those that no property takes."""
    known = by_id(root)
    unknown = []
    for own, values in answers.items():
        for name, value in values.items():
            prop = types[own].properties.get(name) if own in types else None
            if own not in known or prop is None or prop.usage not in GIVEN:
                unknown.append((own, name))
            else:
                known[own][name] = value
    return unknown
