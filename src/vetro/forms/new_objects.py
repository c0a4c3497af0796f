"""New objects as a form begins with them: with what nobody can decide otherwise, and with what is usual.

What is usual is the same for `vetro deploy` (`vetro.engine.models.usual_values`): the size and the name of a server,
and the name of an application. Everything can be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from vetro.engine.models.usual_values import APPLICATION, SERVER, application_name, server_names
from vetro.forms.catalog import DescribedClass
from vetro.forms.fill import Filler
from vetro.forms.model import Field
from vetro.forms.presets import Presets
from vetro.model.environment import ENVIRONMENT
from vetro.model.header import class_of, id_of, label_of
from vetro.model.tree import objects

#: Objects in objects that are made so.
DEEPEST: Final = 4


class NewObjects:
    """Fills in what is new. ``around``: the name of the environment that it comes to; empty: that is not known yet."""

    def __init__(self, filler: Filler, new_id: Callable[[], str], around: str = "") -> None:
        self._filler = filler
        self._new_id = new_id
        self._around = around

    def completed(
        self, described: DescribedClass, value: Mapping[str, Any], kept: Collection[str] = ()
    ) -> dict[str, Any]:
        """An object with what it lacks, also in the objects that it has already.

        A required field without an answer gets a new object, where no object that is there could stand in it and one
        class is all that there is: whoever fills in the form would have to choose it, and then see what it asks.
        ``kept``: ids of objects in it that are not new; they stay as they are.
        """
        there = [place.object for place in self._filler.objects.by_id.values() if class_of(place.object) != ENVIRONMENT]
        taken = {label_of(obj) for obj in there} | {str(obj.get("name")) for obj in (*there, *objects(value))}
        around = self._around or described.name.rsplit(".", 1)[-1].lower()
        return _Completion(self._filler, self._new_id, frozenset(kept), taken, around).object(described, value, ())


class _Completion:
    """One object being completed, with those in it."""

    def __init__(
        self, filler: Filler, new_id: Callable[[], str], kept: frozenset[str], taken: set[str], around: str
    ) -> None:
        self._filler, self._new_id, self._kept, self._taken = filler, new_id, kept, taken
        self._server_name = server_names(around, taken)
        self._flavor = filler.cloud.flavor if filler.cloud is not None else None

    def object(self, described: DescribedClass, value: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
        """``above``: the classes of the objects around it, which have none of their own kind in them by this."""
        made, within = dict(value), (*above, described.type)
        if len(above) >= DEEPEST:
            return made
        new = id_of(value) not in self._kept
        if new and above and set(made) == {"?"}:
            presets = Presets(self._filler.describer, described, self._flavor)
            if presets.first is not None:
                made = presets.put(made, presets.first, self._new_id, deployed=False)
        for section in described.sections:
            for field in section.fields:
                held = made.get(field.name)
                if new:
                    held = self._usual(described, field, held, within)
                    if held is not None:
                        made[field.name] = held
                if field.picker is None or not isinstance(held, Mapping):
                    continue
                kind = self._filler.class_of(held, field.picker)
                if kind is not None:
                    made[field.name] = self.object(kind, held, within)
        return made

    def _usual(self, described: DescribedClass, field: Field, held: Any, within: tuple[str, ...]) -> Any:
        """What a field of a new object holds: what it holds already, else what is usual; None where that is nothing."""
        if held is not None or not field.required or field.initial is not None:
            return held
        if field.widget == "flavor" and field.kind == "string":
            return self._flavor() if self._flavor is not None else None
        if field.name == "name" and field.kind == "string":
            return self._name(described)
        return self._only_choice(field, within)

    def _name(self, described: DescribedClass) -> str | None:
        if described.is_a(SERVER):
            name: str | None = self._server_name()
        elif described.is_a(APPLICATION):
            schema = described.schema.get("properties", {}).get("name", {})
            name = application_name(described.name, self._taken, schema)
        else:
            return None
        if name is not None:
            self._taken.add(name)
        return name

    def _only_choice(self, field: Field, within: tuple[str, ...]) -> dict[str, Any] | None:
        """A new object of the only class that a field can have one of; None where there is something to decide."""
        picker = field.picker
        if picker is None or not field.visible or picker.nullable:
            return None
        known = self._filler.picker(picker)
        if known.existing or known.more_existing or known.more_types or len(known.types) != 1:
            return None
        (only,) = known.types
        return None if only.disabled or only.value in within else {"?": {"type": only.value, "id": self._new_id()}}
