"""Objects of an object model, by id: what references point to and what a new form may not overwrite."""

from __future__ import annotations

from typing import Any, Final

from vetro.diagnostics import Text
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.model import Choice, Picker
from vetro.model.header import class_of, id_of, label_of_type, name_of, type_of
from vetro.model.tree import Place, walk

_ENVIRONMENT: Final = "io.murano.Environment"


class Objects:
    """The objects of one model (the value of ``Objects``, an environment as a rule)."""

    def __init__(self, root: Any, describer: Describer) -> None:
        self._describer = describer
        self.by_id: dict[str, Place] = {own: place for place in walk(root) if (own := id_of(place.object)) is not None}
        #: Ids by the type that is written; made when a picker asks.
        self._by_type: dict[str, list[str]] | None = None
        #: Numbers of the objects that nobody named; made when one of them is to be called something.
        self._numbers: dict[str, int] | None = None

    def class_of(self, id: str) -> DescribedClass | None:
        """The class of an object; None where the object or its class is unknown."""
        known = self.by_id.get(id)
        written = "" if known is None else type_of(known.object)
        return self._describer.described(written) if written else None

    def label(self, id: str) -> str:
        """What people know the object by: its name, else its class, what it belongs to, and which of several it is."""
        place = self.by_id[id]
        own = name_of(place.object)
        if own:
            return own
        kind, owner = _anonymous(place)
        if self._numbers is None:
            self._numbers = _numbered(self.by_id)
        number = self._numbers[id]
        if owner:
            return (
                Text("{kind} {number} of {owner}", kind=kind, number=number, owner=owner)
                if number
                else Text("{kind} of {owner}", kind=kind, owner=owner)
            )
        return f"{kind} {number}" if number else kind

    def instances(
        self, picker: Picker, *, search: str = "", offset: int = 0, limit: int = 100
    ) -> tuple[list[Choice], bool]:
        """Objects that the picker may refer to, by label, ``limit`` from ``offset`` on, and whether more follow.

        ``search``: text that label, class or id must contain. Classes that the catalog lacks fit nothing.
        """
        wanted = search.casefold()
        found: list[tuple[str, str, str]] = []
        for written, ids in self._types().items():
            described = self._describer.described(written)
            if described is None or not described.is_a(picker.type, picker.version):
                continue
            for id in ids:
                label = self.label(id)
                if not wanted or wanted in f"{label}\0{described.name}\0{described.title}\0{id}".casefold():
                    found.append((label, id, described.title))
        found.sort(key=lambda row: (row[0].casefold(), row[1]))
        page = found[offset : offset + limit]
        return [Choice(id, label, group=title) for label, id, title in page], len(found) > offset + limit

    def _types(self) -> dict[str, list[str]]:
        if self._by_type is None:
            self._by_type = {}
            for id, known in self.by_id.items():
                written = type_of(known.object)
                if written:
                    self._by_type.setdefault(written, []).append(id)
        return self._by_type


def _anonymous(place: Place) -> tuple[str, str]:
    """The class of an object without name, and the name of what it belongs to; '' for what belongs to nothing."""
    around = place.around
    while around is not None and not name_of(around.object):
        around = around.around
    # Everything belongs to the environment: that says nothing.
    owner = "" if around is None or class_of(around.object) == _ENVIRONMENT else name_of(around.object)
    return label_of_type(type_of(place.object) or "object"), owner


def _numbered(places: dict[str, Place]) -> dict[str, int]:
    """Which of several of its kind an object without name is, from 1; 0 for the only one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for id, place in places.items():
        if not name_of(place.object):
            alike.setdefault(_anonymous(place), []).append(id)
    return {id: i + 1 if len(ids) > 1 else 0 for ids in alike.values() for i, id in enumerate(ids)}
