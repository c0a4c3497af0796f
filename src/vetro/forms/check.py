"""Are the answers to a class form acceptable? JSON Schema, references, contexts, nested objects, each at its path.

What only package code can tell (``serverChecks``, conversions) is left to the contracts: the caller has the new model
loaded in a task process and maps what that says with `contracts.problems_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import jsonschema_rs

from vetro.diagnostics import Diagnostic, Text, plain
from vetro.forms.catalog import DescribedClass, Describer, all_fields
from vetro.forms.contexts import Contexts
from vetro.forms.fill import DEEPEST, class_in
from vetro.forms.keywords import Schema
from vetro.forms.model import Field, Form, Picker, flaw
from vetro.forms.objects import Objects
from vetro.forms.removal import removed_by, still_used
from vetro.forms.validation import evaluate, evaluate_form
from vetro.forms.values import deeper_than
from vetro.forms.vocabulary import checks_of
from vetro.model.files import STORED_CLASS
from vetro.model.header import id_of, type_of
from vetro.model.paths import ABSENT, is_list, pointer
from vetro.model.secrets import is_mark, kept
from vetro.model.tree import by_id, walk

#: Steps of a pattern before it counts as not matched.
_BACKTRACKS: Final = 100_000
#: Lists and mappings in each other that answers may have.
LEVELS: Final = 200
_TOO_DEEP: Final = flaw("", Text("The answers are nested in more than {levels} levels.", levels=LEVELS), "too_deep")
#: What is wrong with an object of `STORED_CLASS`; None where nothing is.
FileCheck: TypeAlias = Callable[[Mapping[str, Any]], Text | None]


class Validator:
    """The schema of one form, compiled; thread-safe."""

    def __init__(self, form: Form) -> None:
        self._schema: Schema = form.schema or {}
        self._compiled = compiled(self._schema)

    def problems(self, answers: Mapping[str, Any]) -> list[Diagnostic]:
        """What is wrong with the answers as JSON values."""
        found = evaluate_form(self._schema, answers)
        if not found:
            # Never reached as long as both read the schema in the same way (a test holds that).
            found = [
                flaw(pointer(*error.instance_path), error.message, "invalid")
                for error in self._compiled.iter_errors(dict(answers))
            ]
        return found


def compiled(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    """A validator for a schema of ours: patterns are bounded, nothing is fetched."""
    return jsonschema_rs.Draft202012Validator(
        plain(schema), pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS), offline=True
    )


@lru_cache(maxsize=1024)
def validator_of(described: DescribedClass) -> Validator:
    """The validator of a class, kept."""
    return Validator(described.form)


class Checker:
    """Checks answers for objects of one environment.

    ``objects``: the environment as stored, so that references reach everywhere. ``lacks``: what is wrong with a file
    that somebody gave, beyond what its class says.
    """

    def __init__(self, describer: Describer, objects: Objects, lacks: FileCheck | None = None) -> None:
        self._describer = describer
        self._objects = objects
        self._lacks = lacks

    def problems(
        self, described: DescribedClass, answers: Mapping[str, Any], stored: Mapping[str, Any] | None = None
    ) -> list[Diagnostic]:
        """Everything that is wrong with ``answers`` for an object of a class; ``stored`` is what it was before.

        ``place`` is a pointer into the answers, ``subject`` the object whose property it is.
        """
        if deeper_than(answers, LEVELS):
            return [_TOO_DEEP]
        run = _Run(self._describer, self._objects, answers, stored, self._lacks)
        found = [*run.check(described, answers, stored), *run.contexts.problems()]
        return [*found, *still_used(run.removed, self._objects, stored)]

    def kept_secrets(self, value: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """Secrets of an object, and of those in it, that do not fit: nobody can see that they are wrong."""
        for place in walk(value):
            written = type_of(place.object)
            described = self._describer.described(written) if written else None
            for name, field in described.fields.items() if described is not None else ():
                if field.secret and name in place.object:
                    yield from _unfit(field, place.object[name], place.path + pointer(name), id_of(place.object))

    def arguments(self, form: Form, answers: Mapping[str, Any]) -> list[Diagnostic]:
        """The same for the arguments of a method."""
        if deeper_than(answers, LEVELS):
            return [_TOO_DEEP]
        run = _Run(self._describer, self._objects, answers, None, self._lacks)
        found = Validator(form).problems(answers)
        for page in form.pages:
            for field in all_fields(page.sections):
                found += run.field(field, answers.get(field.name, ABSENT), pointer(field.name), None, None, 0)
        return [*found, *run.contexts.problems()]


class _Run:
    """One check: what the answers define, and what was found."""

    def __init__(
        self,
        describer: Describer,
        objects: Objects,
        answers: Mapping[str, Any],
        stored: Mapping[str, Any] | None,
        lacks: FileCheck | None,
    ) -> None:
        self.describer = describer
        self.lacks = lacks
        self.objects = objects
        self.before = by_id(stored)
        self.defined = Objects(answers, describer)
        self.removed = removed_by(stored, answers)
        self.met: set[str] = set()
        self.contexts = Contexts(describer, self.find)

    def find(self, id: str) -> tuple[Mapping[str, Any], str | None] | None:
        """An object by id: the answers' own with its pointer, else that of the environment; None for unknown ids."""
        known = self.defined.by_id.get(id)
        if known is not None:
            return known.object, known.path
        if id in self.removed:
            return None
        if id in self.before:
            return self.before[id], None
        known = self.objects.by_id.get(id)
        return None if known is None else (known.object, None)

    def check(
        self, described: DescribedClass, answers: Mapping[str, Any], stored: Mapping[str, Any] | None
    ) -> Iterator[Diagnostic]:
        yield from self._object(described, answers, stored, "", 0)

    def _object(
        self,
        described: DescribedClass,
        answers: Mapping[str, Any],
        stored: Mapping[str, Any] | None,
        path: str,
        depth: int,
    ) -> Iterator[Diagnostic]:
        id = id_of(answers) or (id_of(stored) if stored is not None else None)
        if id is not None:
            if id in self.met:
                yield flaw(path, Text("Two objects have the id {id}.", id=id), "duplicate_id", id)
            self.met.add(id)
        # What is stored and not answered stays: it need not be given again.
        missing = {name: stored[name] for name in described.fields if stored and name in stored and name not in answers}
        for problem in validator_of(described).problems({**_as_kept(described, missing), **answers}):
            yield replace(problem, place=path + problem.place, subject=id)
        for name, field in described.fields.items():
            yield from self.field(
                field, answers.get(name, ABSENT), path + pointer(name), id, stored, depth, pointer(name)
            )

    def field(
        self,
        field: Field,
        value: Any,
        path: str,
        id: str | None,
        stored: Mapping[str, Any] | None,
        depth: int,
        inner: str = "",
    ) -> Iterator[Diagnostic]:
        """Secrets, references and objects at and below one field. ``inner``: pointer within the object around it."""
        if value is ABSENT:
            return
        if field.secret:
            if is_mark(value):
                held = kept(value, stored, inner)
                if held is ABSENT:
                    yield flaw(path, Text("There is no stored secret: enter it."), "required", id)
                else:
                    yield from _unfit(field, held, path, id)
        elif field.picker is not None:
            yield from self._reference(field.picker, value, path, id, depth)
        elif is_list(value):
            for i, item in enumerate(value):
                part = field.leading[i] if i < len(field.leading) else field.items
                if part is not None:
                    step = pointer(i)
                    yield from self.field(part, item, path + step, id, stored, depth, inner + step)
        elif isinstance(value, Mapping) and field.kind in ("object", "map"):
            own = {part.name: part for part in all_fields(field.sections)}
            for key, item in value.items():
                part = own.get(key, field.items)
                if part is not None:
                    step = pointer(key)
                    yield from self.field(part, item, path + step, id, stored, depth, inner + step)

    def _reference(self, picker: Picker, value: Any, path: str, id: str | None, depth: int) -> Iterator[Diagnostic]:
        if isinstance(value, str) and picker.owned is not True and value:
            yield from self._existing(picker, value, path, id)
        elif isinstance(value, Mapping) and picker.owned is not False:
            yield from self._new(picker, value, path, id, depth)

    def _existing(self, picker: Picker, value: str, path: str, id: str | None) -> Iterator[Diagnostic]:
        known = self.find(value)
        if known is None:
            yield flaw(path, Text("This object does not exist (any more). Choose another."), "unknown_object", id)
            return
        described = class_in(self.describer, known[0], Picker(picker.type))
        if described is None:
            yield flaw(path, Text("The class of this object is not in the catalog."), "unknown_class", id)
        elif not described.is_a(picker.type, picker.version):
            yield flaw(
                path,
                Text("This is a {title}, not a {wanted}.", title=described.title, wanted=_wanted(picker)),
                "wrong_class",
                id,
            )
        else:
            self.contexts.met(picker, known[0], known[1], described, path, id)

    def _new(
        self, picker: Picker, value: Mapping[str, Any], path: str, id: str | None, depth: int
    ) -> Iterator[Diagnostic]:
        described = class_in(self.describer, value, picker)
        own = id_of(value)
        stored = self.before.get(own) if own is not None else None
        if described is None:
            if stored is None:
                name = type_of(value) or picker.type
                yield flaw(path, Text("The catalog has no class {name}.", name=name), "unknown_class", own or id)
            return
        if not described.is_a(picker.type, picker.version):
            yield flaw(
                path,
                Text("A {title} is no {wanted}.", title=described.title, wanted=_wanted(picker)),
                "wrong_class",
                own or id,
            )
            return
        if self.lacks is not None and described.is_a(STORED_CLASS) and (wrong := self.lacks(value)) is not None:
            yield flaw(path, wrong, "file", own or id)
            return
        if own is not None and stored is None and own in self.objects.by_id:
            yield flaw(path, Text("The id {own} belongs to another object.", own=own), "duplicate_id", own)
            return
        if depth >= DEEPEST:
            yield flaw(path, Text("Objects are nested too deeply."), "too_deep", own or id)
            return
        self.contexts.met(picker, value, path, described, path, id)
        yield from self._object(described, value, stored, path, depth + 1)


def _unfit(field: Field, held: Any, path: str, id: str | None) -> Iterator[Diagnostic]:
    for problem in evaluate(checks_of(field), held):
        text = Text("The value that is kept does not fit: {message}", message=problem.message)
        yield flaw(path, text, problem.code, id)


def _wanted(picker: Picker) -> str:
    return f"{picker.type} {picker.version}" if picker.version not in (None, "", "0") else picker.type


def _as_kept(described: DescribedClass, values: Mapping[str, Any]) -> dict[str, Any]:
    return {n: {"secret": "kept"} if described.fields[n].secret and v is not None else v for n, v in values.items()}
