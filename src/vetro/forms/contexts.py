"""``context`` schemas: what a class demands of the objects it refers to, and of theirs (SEMANTICS 17.3).

They come from checks such as ``$.class(Host).check($.size > 7)`` and are inherited downwards: an object must meet the
contexts of every reference that leads to it. A new object's form is narrowed by them at once (`generated`); here they
are checked against the object that is really there, wherever in the environment, and reported at the reference, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.fields import field_of
from vetro.forms.fill import class_in
from vetro.forms.generated import of_property
from vetro.forms.keywords import Schema, together
from vetro.forms.model import Picker, flaw
from vetro.forms.validation import evaluate
from vetro.forms.vocabulary import field_schema
from vetro.model.header import header_of, id_of, type_of
from vetro.model.paths import ABSENT, pointer

#: An object by id with its pointer in the answers (None: it is not among them); None for unknown ids.
Find = Callable[[str], "tuple[Mapping[str, Any], str | None] | None"]
_DEEPEST = 20


class Contexts:
    """Collects references and the objects they lead to; tells what these lack."""

    def __init__(self, describer: Describer, find: Find) -> None:
        self._describer = describer
        self._find = find
        self._met: list[tuple[Schema, Mapping[str, Any], str | None, DescribedClass, str, str | None, bool]] = []

    def met(
        self,
        picker: Picker,
        data: Mapping[str, Any],
        place: str | None,
        described: DescribedClass,
        path: str,
        id: str | None,
    ) -> None:
        """A reference at ``path`` of the object ``id`` leads to ``data``, which stands at ``place`` in the answers."""
        by_id = place != path
        for context in picker.contexts:
            self._met.append((context, data, place, described, path, id, by_id))

    def problems(self) -> Iterator[Diagnostic]:
        """At each reference what its object lacks, and the same in the object where it is part of the form."""
        for context, data, place, described, path, id, by_id in self._met:
            for inner, message, where, inner_id in self._lacks(context, data, place, described, (), 0):
                name = ".".join(inner)
                yield flaw(
                    path,
                    Text("The chosen object does not fit: {name}: {message}", name=name, message=message),
                    "context",
                    id,
                )
                if by_id and where is not None:
                    yield flaw(where, message, "context", inner_id)

    def _lacks(
        self,
        context: Schema,
        data: Mapping[str, Any],
        place: str | None,
        described: DescribedClass,
        trail: tuple[str, ...],
        depth: int,
    ) -> Iterator[tuple[tuple[str, ...], str, str | None, str | None]]:
        for name in _names(context):
            schema: Any = None
            for part in of_property(context, name):
                schema = together(schema, part)
            value = data.get(name, ABSENT)
            field = described.fields.get(name)
            if value is ABSENT and field is not None and field.initial is not None:
                value = field.initial
            if value is ABSENT or schema is None or depth >= _DEEPEST:
                continue  # what an expression or another version gives is for the contract to say
            here = None if place is None else place + pointer(name)
            if "properties" in schema or any("properties" in part for part in schema.get("allOf", ())):
                yield from self._through(schema, value, here, field, (*trail, name), depth)
            else:
                for problem in evaluate(field_schema(field_of(name, schema)), value):
                    yield (*trail, name), problem.message, here, id_of(data)

    def _through(
        self, schema: Schema, value: Any, here: str | None, field: Any, trail: tuple[str, ...], depth: int
    ) -> Iterator[tuple[tuple[str, ...], str, str | None, str | None]]:
        """Into the object that a property holds or refers to."""
        known: tuple[Mapping[str, Any], str | None] | None = None
        if isinstance(value, str):
            known = self._find(value)
        elif isinstance(value, Mapping):
            known = value, here
        if known is None:
            return
        data, place = known
        picker = getattr(field, "picker", None)
        if header_of(data) is None and picker is None:
            described = DescribedClass({})  # a mapping that is no object
        else:
            found = class_in(self._describer, data, Picker(picker.type, picker.version) if picker else _typed(data))
            if found is None:
                return
            described = found
        yield from self._lacks(schema, data, place, described, trail, depth + 1)


def _typed(data: Mapping[str, Any]) -> Picker:
    return Picker(type_of(data))


def _names(context: Schema) -> list[str]:
    names = dict.fromkeys(context.get("properties", ()))
    for part in context.get("allOf", ()):
        names.update(dict.fromkeys(_names(part)))
    return list(names)
