"""New objects that a form begins with: where a field has to hold one, and there is but one kind to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vetro.forms.catalog import DescribedClass
from vetro.forms.fill import Filler
from vetro.forms.model import Field

#: Objects in objects that are made so.
DEEPEST: Final = 4


def with_only_choices(
    filler: Filler,
    described: DescribedClass,
    value: Mapping[str, Any],
    new_id: Callable[[], str],
    above: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A new object with what nobody can decide otherwise, also in the objects that it has already.

    A required field without an answer gets a new object, where no object that is there could stand in it and one class
    is all that there is: whoever fills in the form would have to choose it, and then see what it asks. ``above``: the
    classes of the objects around it, which have none of their own kind in them by this.
    """
    made, within = dict(value), (*above, described.type)
    if len(above) >= DEEPEST:
        return made
    for section in described.sections:
        for field in section.fields:
            held = made.get(field.name)
            if held is None:
                held = _only_choice(filler, field, new_id, within)
            if field.picker is None or not isinstance(held, Mapping):
                continue
            kind = filler.class_of(held, field.picker)
            if kind is not None:
                made[field.name] = with_only_choices(filler, kind, held, new_id, within)
    return made


def _only_choice(
    filler: Filler, field: Field, new_id: Callable[[], str], within: tuple[str, ...]
) -> dict[str, Any] | None:
    """A new object of the only class that a field can have one of; None where there is something to decide."""
    picker = field.picker
    if picker is None or not field.required or not field.visible or picker.nullable or field.initial is not None:
        return None
    known = filler.picker(picker)
    if known.existing or known.more_existing or known.more_types or len(known.types) != 1 or known.types[0].disabled:
        return None
    return None if known.types[0].value in within else {"?": {"type": known.types[0].value, "id": new_id()}}
