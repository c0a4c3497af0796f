"""The questions of an upgrade as forms: of each object the generated form of its new class, cut to what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic, Text, decode_messages
from vetro.forms.answers import Merger
from vetro.forms.catalog import DescribedClass
from vetro.forms.check import Checker
from vetro.forms.contracts import problems_of
from vetro.forms.fill import Filler
from vetro.forms.model import Field, Form, Page, Section, flaw
from vetro.forms.objects import Objects
from vetro.forms.placement import with_problems
from vetro.forms.sessions import FormFailed
from vetro.forms.sessions.merge import readable
from vetro.model.header import label_of, type_of
from vetro.model.paths import steps_of
from vetro.model.secrets import is_mark
from vetro.model.tree import by_id
from vetro.server.caller import Caller
from vetro.server.environments.queries import ListedEnvironment
from vetro.server.environments.upgrades import Upgrade
from vetro.server.forms.class_catalog import describer_for
from vetro.server.ids import new_id
from vetro.server.setup import config

#: Object -> property -> value, as a person gave it.
Typed = Mapping[str, Any]
#: Object -> what is wrong with its answers; '': what belongs to no question.
Problems = dict[str, list[Diagnostic]]


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """What is asked about one object."""

    id: str
    name: str
    type: str
    page: Page


class Questions:
    """What an upgrade asks that was worked out without answers.

    ``report`` is that of `vetro.engine.upgrading.upgrade.upgraded`, its messages decoded.
    """

    def __init__(self, caller: Caller, found: ListedEnvironment, upgrade: Upgrade) -> None:
        self.report: dict[str, Any] = decode_messages(upgrade.report)
        project_name = caller.project_name if found.project_id == caller.project_id else ""
        self._describer = describer_for(found.project_id, project_name, upgrade.lock.packages)
        root = upgrade.result["objects"]
        self._objects = Objects(root, self._describer)
        self._stored = by_id(root)
        self._asked: dict[str, list[Mapping[str, Any]]] = {}
        for question in self.report["asked"]:
            self._asked.setdefault(question["object"], []).append(question)
        self._described = {own: self._class_of(own) for own in self._asked}

    def answers(self, typed: Typed) -> dict[str, dict[str, Any]]:
        """Answers of an upgrade: what was typed for what is asked; new objects have ids."""
        return {own: found for own in self._asked if (found := self._answered(own, typed))}

    def problems(self, typed: Typed) -> Problems:
        """What can be said of answers without asking the contracts."""
        checker = Checker(self._describer, self._objects)
        found: Problems = {}
        for own, described in self._described.items():
            if described is None:
                continue
            said = checker.problems(described, self._read(own, typed), self._stored[own])
            names = self._names(own)
            mine = [problem for problem in said if steps_of(problem.place)[:1] and steps_of(problem.place)[0] in names]
            if mine:
                found[own] = mine
        return found

    def refused(self, asked: Sequence[Mapping[str, Any]], typed: Typed) -> Problems:
        """The questions of a report as problems of the answers."""
        found: Problems = {}
        values = {own: self._values(own, typed) for own in self._asked}
        for question in asked:
            own = question["object"]
            if own not in values:
                own = next((known for known, tree in values.items() if own in by_id(tree)), "")
            error = {"objectId": question["object"], "property": question["property"], "message": question["message"]}
            if own:
                found.setdefault(own, []).extend(problems_of([error], values[own]))
            else:
                place = f"{question['name']}.{question['property']}"
                text = Text("{place}: {message}", place=place, message=question["message"])
                found.setdefault("", []).append(flaw("", text, "contract", question["object"]))
        return found

    def forms(self, typed: Typed, problems: Problems) -> list[ObjectForm]:
        """The forms, filled in with what was typed. Secrets that were only typed have to be typed again."""
        made = []
        for own, described in self._described.items():
            stored = self._stored[own]
            page = Page(own, label_of(stored), self._sections(own, described, typed))
            page = with_problems(Form(page.title, "class", (page,)), problems.get(own, ())).pages[0]
            made.append(ObjectForm(own, label_of(stored), type_of(stored), page))
        return made

    def _class_of(self, own: str) -> DescribedClass | None:
        with suppress(FormFailed):  # its schema cannot be made: values are given as JSON
            return self._describer.described(type_of(self._stored[own]))
        return None

    def _names(self, own: str) -> list[str]:
        return [question["property"] for question in self._asked[own]]

    def _read(self, own: str, typed: Typed) -> dict[str, Any]:
        given = typed.get(own)
        names = self._names(own)
        kept = {name: given[name] for name in names if name in given} if isinstance(given, Mapping) else {}
        stored = self._stored[own]
        return readable(kept, stored, {key: stored["?"][key] for key in ("type", "id") if key in stored["?"]})

    def _answered(self, own: str, typed: Typed) -> dict[str, Any]:
        read, described = self._read(own, typed), self._described[own]
        if described is None:
            return {name: value for name, value in read.items() if name != "?" and not is_mark(value)}
        merged = Merger(self._describer, new_id).merge(described, self._stored[own], read)
        return {name: merged[name] for name in read if name != "?" and name in merged}

    def _values(self, own: str, typed: Typed) -> dict[str, Any]:
        return {**self._stored[own], **self._answered(own, typed)}

    def _sections(self, own: str, described: DescribedClass | None, typed: Typed) -> tuple[Section, ...]:
        values, stored = self._values(own, typed), self._stored[own]
        left = {question["property"]: question for question in self._asked[own]}
        sections = []
        if described is not None:
            typed_only = {name for name, field in described.fields.items() if field.secret and name not in stored}
            shown = {name: value for name, value in values.items() if name not in typed_only}
            filler = Filler(self._describer, self._objects, limit=config()["forms.max_implementations"])
            for section in filler.form(described, shown).pages[0].sections:
                fields = tuple(_open(field) for field in section.fields if left.pop(field.name, None) is not None)
                if fields:
                    sections.append(replace(section, fields=fields))
        rest = tuple(_as_json(question, values) for question in left.values())
        return (*sections, Section(fields=rest)) if rest else tuple(sections)


def _open(field: Field) -> Field:
    """A field that must be answered now, wherever its author put it."""
    return replace(field, visible=True, enabled=True, read_only=False, level="basic")


def _as_json(question: Mapping[str, Any], values: Mapping[str, Any]) -> Field:
    """The field of a property of which no form can be made."""
    name = question["property"]
    return Field(
        name,
        "json",
        name,
        help=question["contract"],
        required=True,
        value=values.get(name),
        answered=values.get(name) is not None,
    )
