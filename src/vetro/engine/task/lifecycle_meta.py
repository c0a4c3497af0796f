"""What classes and methods declare with the metadata of ``io.vetro.lifecycle``."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.session import Session
from vetro.muranopl.types.meta import meta_of, meta_values


def lifecycle_meta(session: Session, thing: Any, name: str) -> list[dict[str, Any]]:
    """The values of the metadata of class ``io.vetro.lifecycle.NAME`` that a class or a method has.

    Another package may have a class of this name: nobody vouches for its values.
    """
    full = f"io.vetro.lifecycle.{name}"
    if all(slot.type.name != full for slot in session.meta_objects.slots(thing)):
        return []  # most have others, which are not made for this
    told = zip(meta_of(session, thing), meta_values(session, thing), strict=True)
    return [values for obj, (of, values) in told if of == full and obj._type.package.name == "io.vetro"]


def declared_health(session: Session, type_: Any) -> dict[str, list[dict[str, Any]]]:
    """What a class declares of the health of its objects: {health, methods}."""
    methods = [
        {"name": name, **values}
        for name, method in type_.methods.items()
        for values in lifecycle_meta(session, method, "HealthCheck")
    ]
    return {"health": lifecycle_meta(session, type_, "Health"), "methods": methods}


def declared_updates(session: Session, type_: Any) -> dict[str, list[dict[str, Any]]]:
    """What a class declares of updates: {update, lost}; a ``method`` by which something is lost is named."""
    lost = [{"what": values["what"], "method": ""} for values in lifecycle_meta(session, type_, "NotRestorable")]
    lost += [
        {"what": values["what"], "method": name}
        for name, method in type_.methods.items()
        for values in lifecycle_meta(session, method, "NotRestorable")
    ]
    return {"update": lifecycle_meta(session, type_, "Update"), "lost": lost}
