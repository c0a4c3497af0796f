"""Presets of a class: named values by which its form can be filled in at once (`io.vetro.forms.Preset`).

Which preset is chosen is no answer of its own: it is the one whose values the object has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vetro.engine.models.usual_values import first_preset
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.fill import class_in
from vetro.forms.model import Field, Picker, Preset
from vetro.forms.values import equivalent
from vetro.model.header import class_of, header_of
from vetro.model.paths import ABSENT


class Presets:
    """The presets of one class. ``flavor``: which flavor of the cloud is as large as one that a preset names."""

    def __init__(
        self, describer: Describer, described: DescribedClass, flavor: Callable[[str], str | None] | None = None
    ) -> None:
        self._describer = describer
        self._described = described
        self._flavor = flavor

    @property
    def offered(self) -> Sequence[Preset]:
        """Those that set something the form asks for."""
        return self._described.form.presets

    @property
    def first(self) -> Preset | None:
        """The one that a new form begins with."""
        return first_preset(self.offered, lambda preset: preset.default)

    def named(self, name: str) -> Preset | None:
        """The preset with a name."""
        return next((preset for preset in self.offered if preset.name == name), None)

    def chosen(self, value: Mapping[str, Any]) -> str:
        """The name of the preset whose values an object has; empty where it has values of its own."""
        return next((one.name for one in self.offered if self._has(self._described, value, one.values)), "")

    def put(
        self, value: Mapping[str, Any], preset: Preset, new_id: Callable[[], str], *, deployed: bool
    ) -> dict[str, Any]:
        """The object with the values of a preset; ``deployed``: then properties that never change stay."""
        return self._with(self._described, value, preset.values, new_id, deployed)

    def _has(self, described: DescribedClass, value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        for name, one in wanted.items():
            field = described.fields.get(name)
            if field is None:
                continue
            held = value.get(name, field.initial)
            if field.picker is not None and isinstance(one, Mapping):
                inner = class_in(self._describer, held, field.picker) if isinstance(held, Mapping) else None
                if inner is None or _other_class(held, one) or not self._has(inner, held, _answers(one)):
                    return False
            elif not equivalent(held, self._of_cloud(field, one)):
                return False
        return True

    def _of_cloud(self, field: Field, one: Any) -> Any:
        """A value of a preset as it is in this cloud, which may call its sizes otherwise."""
        if field.widget != "flavor" or self._flavor is None or not isinstance(one, str):
            return one
        return self._flavor(one) or one

    def _with(
        self,
        described: DescribedClass,
        value: Mapping[str, Any],
        wanted: Mapping[str, Any],
        new_id: Callable[[], str],
        deployed: bool,
    ) -> dict[str, Any]:
        made = dict(value)
        properties = described.schema.get("properties", {})
        for name, one in wanted.items():
            field = described.fields.get(name)
            if field is None or (deployed and properties.get(name, {}).get("usage") == "Const"):
                continue
            if field.picker is not None and isinstance(one, Mapping):
                found = self._object(field.picker, made.get(name), one, new_id, deployed)
                if found is not ABSENT:
                    made[name] = found
            else:
                made[name] = self._of_cloud(field, one)
        return made

    def _object(
        self, picker: Picker, held: Any, wanted: Mapping[str, Any], new_id: Callable[[], str], deployed: bool
    ) -> Any:
        """The object in a property with the values; a new one where there is none, or one of another class."""
        if not isinstance(held, Mapping) or _other_class(held, wanted):
            kind = class_in(self._describer, wanted, picker)
            if kind is None:
                return ABSENT
            return self._with(
                kind, {"?": {"type": kind.type, "id": new_id()}}, _answers(wanted), new_id, deployed=False
            )
        kind = class_in(self._describer, held, picker)
        return held if kind is None else self._with(kind, held, _answers(wanted), new_id, deployed)


def _answers(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if name != "?"}


def _other_class(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return header_of(wanted) is not None and class_of(wanted) != class_of(held)
