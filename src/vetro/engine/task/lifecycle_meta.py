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
