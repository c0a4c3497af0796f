"""Object model -> filled-in form: every value at its field, nested objects as forms in the form.

A class is described when an object of it is there, so a form never unfolds further than its values. In a filled-in
form the `sections` of a list hold its items (fields named ``0``, ``1``…), those of a map additionally a section
`ENTRIES` with the entries that have no field of their own; those of a reference the fields of the object in it, which
a file that people give has none of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vetro.forms.catalog import MAX_IMPLEMENTATIONS, DescribedClass, Describer
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.keywords import Schema
from vetro.forms.model import FILE, Choice, Field, Form, Page, Picker, Section
from vetro.forms.objects import Objects
from vetro.model.header import header_of, id_of, type_of
from vetro.model.paths import ABSENT, child, is_list, pointer
from vetro.model.secrets import mark

ENTRIES: Final = "entries"
#: Objects in objects that are unfolded; deeper ones are shown as what they are, without fields.
DEEPEST: Final = 40


class Filler:
    """Fills forms in. ``deployed``: whether an object took part in a finished deployment (then Const is read-only);
    ``cloud``: what there is to choose of a cloud."""

    def __init__(
        self,
        describer: Describer,
        objects: Objects | None = None,
        *,
        deployed: Callable[[str], bool] = lambda id: False,
        limit: int = MAX_IMPLEMENTATIONS,
        cloud: CloudChoices | None = None,
    ) -> None:
        self.describer = describer
        self.objects = objects or Objects({}, describer)
        self.deployed = deployed
        self.limit = limit
        self.cloud = cloud
        #: What can be picked does not change while one form is filled in.
        self._pages: dict[tuple[str, str | None, bool | None], Picker] = {}

    def form(self, described: DescribedClass, values: Mapping[str, Any]) -> Form:
        """The form of a class with the values of an object of it (or of a new one)."""
        empty = described.form
        page = empty.pages[0]
        return replace(empty, pages=(Page(page.name, page.title, self._sections(described, values, 0)),))

    def method(self, form: Form, values: Mapping[str, Any]) -> Form:
        """The form of a method with arguments."""
        pages = tuple(
            replace(
                page,
                sections=tuple(
                    replace(
                        s, fields=tuple(self.field(f, values.get(f.name, ABSENT), pointer(f.name)) for f in s.fields)
                    )
                    for s in page.sections
                ),
            )
            for page in form.pages
        )
        return replace(form, pages=pages)

    def _sections(self, described: DescribedClass, values: Mapping[str, Any], depth: int) -> tuple[Section, ...]:
        known = id_of(values)
        fixed = _constants(described) if known is not None and self.deployed(known) else ()
        result = []
        for section in described.sections:
            fields = []
            for field in section.fields:
                if field.name in fixed:
                    field = replace(field, read_only=True)
                fields.append(self.field(field, values.get(field.name, ABSENT), pointer(field.name), depth))
            result.append(replace(section, fields=tuple(fields)))
        return tuple(result)

    def field(self, field: Field, value: Any, path: str = "", depth: int = 0) -> Field:
        """``field`` with ``value`` (`ABSENT`: none), unfolded; ``path``: its pointer within the object around it."""
        if self.cloud is not None:
            field = self.cloud.offered(field)
        if field.picker is not None:
            field = replace(field, picker=self._with_chosen(self.picker(field.picker), value))
        if field.items is not None and field.items.picker is not None:
            field = replace(field, items=replace(field.items, picker=self.picker(field.items.picker)))
        if value is ABSENT:
            return field
        if field.secret:
            return replace(field, value=None if value is None else mark(path), answered=True)
        if field.kind in ("list", "tuple") and is_list(value):
            return self._list(field, value, path, depth)
        if field.kind in ("object", "map") and isinstance(value, Mapping):
            return self._map(field, value, path, depth)
        if field.picker is not None and isinstance(value, Mapping):
            filled = self._object(field, field.picker, value, depth)
            # One value; but of a class that has more than a file may have, nothing is shown that its fields would not.
            return replace(filled, sections=()) if field.widget == FILE else filled
        return replace(field, value=value, answered=True)

    def _list(self, field: Field, values: Sequence[Any], path: str, depth: int) -> Field:
        items = []
        for i, value in enumerate(values):
            template = field.leading[i] if i < len(field.leading) else field.items
            if template is not None:
                named = replace(template, name=str(i), label=template.label or str(i + 1))
                items.append(self.field(named, value, path + pointer(i), depth))
        plain = [item.value for item in items]
        return replace(field, value=plain, answered=True, sections=(Section(fields=tuple(items)),) if items else ())

    def _map(self, field: Field, values: Mapping[str, Any], path: str, depth: int) -> Field:
        sections = []
        plain: dict[str, Any] = {}
        own: set[str] = set()
        for section in field.sections:
            fields = []
            for part in section.fields:
                own.add(part.name)
                filled = self.field(part, child(values, part.name), path + pointer(part.name), depth)
                fields.append(filled)
                if filled.answered:
                    plain[part.name] = filled.value
            sections.append(replace(section, fields=tuple(fields)))
        entries = []
        for key, value in values.items():
            if key not in own and field.items is not None:
                named = replace(field.items, name=str(key), label=str(key))
                filled = self.field(named, value, path + pointer(key), depth)
                entries.append(filled)
                plain[str(key)] = filled.value
        if entries:
            sections.append(Section(name=ENTRIES, fields=tuple(entries)))
        return replace(field, value=plain, answered=True, sections=tuple(sections))

    def _object(self, field: Field, picker: Picker, value: Mapping[str, Any], depth: int) -> Field:
        described = self.class_of(value, picker)
        header = shown_header(value)
        if described is None or depth >= DEEPEST:
            return replace(field, value=header, answered=True)
        sections = self._sections(described, value, depth + 1)
        answers = {f.name: f.value for s in sections for f in s.fields if f.answered}
        return replace(field, value={**header, **answers}, answered=True, sections=sections)

    def class_of(self, value: Mapping[str, Any], picker: Picker) -> DescribedClass | None:
        """The class of an object in a picker, with what the picker leaves out and demands.

        A definition without type has the class of the contract.
        """
        return class_in(self.describer, value, picker)

    def picker(self, picker: Picker) -> Picker:
        """``picker`` with the first page of what can be picked."""
        key = (picker.type, picker.version, picker.owned)
        known = self._pages.get(key)
        if known is None:
            existing, more_existing = self.existing(picker)
            types, more_types = self.types(picker)
            known = self._pages[key] = Picker(
                picker.type,
                existing=tuple(existing),
                types=tuple(types),
                more_existing=more_existing,
                more_types=more_types,
            )
        return replace(
            picker,
            existing=known.existing,
            types=known.types,
            more_existing=known.more_existing,
            more_types=known.more_types,
        )

    def _with_chosen(self, picker: Picker, value: Any) -> Picker:
        """``picker`` with the object that is chosen, wherever in the list it would stand."""
        known = self.objects.by_id.get(value) if isinstance(value, str) else None
        if known is None or any(choice.value == value for choice in picker.existing):
            return picker
        described = self.objects.class_of(value)
        choice = Choice(value, self.objects.label(value), group=described.title if described is not None else None)
        return replace(picker, existing=(*picker.existing, choice))

    def existing(self, picker: Picker, search: str = "", offset: int = 0) -> tuple[list[Choice], bool]:
        """A page of objects that are there."""
        if picker.owned is True:
            return [], False
        return self.objects.instances(picker, search=search, offset=offset, limit=self.limit)

    def types(self, picker: Picker, search: str = "", offset: int = 0) -> tuple[list[Choice], bool]:
        """A page of classes for a new object."""
        if picker.owned is False:
            return [], False
        page = self.describer.catalog.inheritors(picker.type, picker.version, search, offset, self.limit)
        return [Choice(item.type, item.title) for item in page.items], page.more

    def new_object(self, field: Field, type_text: str, id: str, path: str = "") -> Field:
        """The field with a new object of the class that was picked: what a page shows then."""
        return self.field(field, {"?": {"type": type_text, "id": id}}, path)


def class_in(describer: Describer, value: Mapping[str, Any], picker: Picker) -> DescribedClass | None:
    """See `Filler.class_of`."""
    written = type_of(value)
    if not written:
        return describer.of(picker.type, picker.version, excluded=picker.excluded, contexts=picker.contexts)
    return describer.described(written, excluded=picker.excluded, contexts=picker.contexts)


def shown_header(value: Mapping[str, Any]) -> dict[str, Any]:
    """What clients see of a header: type, id and name."""
    header = header_of(value)
    if header is None:
        return {}
    shown = {key: header[key] for key in ("id", "name") if header.get(key) is not None}
    written = type_of(value)
    return {"?": {**({} if not written else {"type": written}), **shown}}


def _constants(described: DescribedClass) -> frozenset[str]:
    properties: Mapping[str, Schema] = described.schema.get("properties", {})
    return frozenset(name for name, part in properties.items() if part.get("usage") == "Const")
