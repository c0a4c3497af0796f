"""`ClassFormSession`: the form of a class being filled in, for a new object or one that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.answers import Merger
from vetro.forms.builders import builder_arguments, builder_form, builders_of, built
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.contracts import problems_of
from vetro.forms.keywords import Schema
from vetro.forms.model import Choice, Form
from vetro.forms.new_objects import NewObjects
from vetro.forms.objects import Objects
from vetro.forms.presets import Presets
from vetro.forms.removal import removed_by, still_used
from vetro.forms.sessions.base import Answers, FormFailed, Turn, Work
from vetro.forms.sessions.merge import emptied, readable
from vetro.forms.sessions.review import Earlier
from vetro.forms.sessions.single_page import SinglePage, not_too_deep
from vetro.model.header import id_of
from vetro.model.paths import at
from vetro.model.tree import by_id

#: The errors of the real contracts, as `vetro.engine.models.check_model` gives them, for an object at its place.
Check = Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]


class ClassFormSession(SinglePage):
    """``objects``: those of the environment as its draft has it, for references; ``around``: its name. ``fixed``:
    whether an object was deployed, so that its Const properties stay. The work is ``{value, stored, found, ready}``:
    the object as it is now (secrets in it), as it was (None for a new one), problems that were found, whether it is
    acceptable.
    """

    source = "class"

    def __init__(
        self,
        describer: Describer,
        described: DescribedClass,
        objects: Objects,
        *,
        new_id: Callable[[], str],
        check: Check = lambda model: (),
        fixed: Callable[[str], bool] = lambda id: False,
        limit: int = 100,
        cloud: CloudChoices | None = None,
        around: str = "",
    ) -> None:
        super().__init__(describer, objects, new_id=new_id, deployed=fixed, limit=limit, cloud=cloud)
        self._described = described
        self._check = check
        self._fixed = fixed
        self._presets = Presets(describer, described, cloud.flavor if cloud is not None else None)
        self._new = NewObjects(self._filler, new_id, around)

    def begin(self, stored: Mapping[str, Any] | None = None, value: Mapping[str, Any] | None = None) -> Work:
        """``stored``: the object to be edited. ``value``: what another form made of a new one."""
        if stored is None:
            made: dict[str, Any] = {"?": {"type": self._described.type, "id": self._new_id()}}
            first = self._presets.first
            if first is not None:
                made = self._presets.put(made, first, self._new_id, deployed=False)
            if value is not None:
                return {"value": dict(value), "stored": None}
            return {"value": self._new.completed(self._described, made), "stored": None}
        return {"value": dict(stored), "stored": dict(stored)}

    def _filled(self, work: Work) -> Form:
        form = self._filler.form(self._described, work["value"])
        return replace(form, preset=self._presets.chosen(work["value"])) if form.presets else form

    def _unseen(self, work: Work) -> Sequence[Diagnostic]:
        return list(self._checker.kept_secrets(work["value"]))

    def _kept(self, work: Work) -> Work:
        return {"value": work["value"], "stored": work["stored"]}

    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        value, _, _ = self._merged(work, answers, partial)
        kept = by_id(work["value"])
        if by_id(value).keys() - kept.keys():
            # Somebody has chosen a new object in it.
            value = self._new.completed(self._described, value, kept)
        return {"value": value, "stored": work["stored"]}

    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Diagnostic]:
        _, read, base = self._merged(work, answers, False)
        return self._problems(work, read, base)

    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        value, read, base = self._merged(work, answers, partial)
        problems = self._problems(work, read, base)
        if not problems:
            problems = problems_of(self._check(value), value)
        return self._turn({"value": value, "stored": work["stored"]}, problems)

    def result(self, work: Work) -> dict[str, Any]:
        value: dict[str, Any] = work["value"]
        return value

    def earlier(self, work: Work) -> Earlier | None:
        stored, value = work["stored"], work["value"]
        if stored is None:
            return None
        return Earlier(
            self._filler.form(self._described, stored), lambda page, path: _held(stored, path) != _held(value, path)
        )

    def preset(self, work: Work, name: str) -> Work:
        """The work with the values of a preset. Raises `FormFailed` where there is none of this name."""
        wanted = self._presets.named(name)
        if wanted is None:
            there = ", ".join(one.name for one in self._presets.offered) or "-"
            raise FormFailed(Text("There is no preset '{name}'; there is: {there}.", name=name[:80], there=there))
        value = work["value"]
        deployed = self._fixed(id_of(value) or "")
        made = self._presets.put(value, wanted, self._new_id, deployed=deployed)
        if work["stored"] is None:
            made = self._new.completed(self._described, made)
        return {"value": made, "stored": work["stored"]}

    # -- model builders ------------------------------------------------------------------------------------------------

    def builders(self, schemas: Mapping[str, Schema]) -> Sequence[Choice]:
        """What the form can start from; ``schemas`` are those of the class and its builders."""
        return builders_of(schemas)

    def start_from(
        self, work: Work, schema: Schema, answers: Answers, call: Callable[[Mapping[str, Any]], Any]
    ) -> Turn:
        """Loads what a builder makes into the form; ``call`` runs it with arguments. The problems of an invalid turn
        are those of the builder's own form."""
        problems = self._checker.arguments(builder_form(schema), answers)
        if problems:
            return Turn("invalid", work, problems)
        args = builder_arguments(self._describer, schema, answers, work["value"])
        made = built(self._describer, self._described, call(args), work["value"])
        return Turn("next", {"value": made, "stored": work["stored"]})

    # -- answers -------------------------------------------------------------------------------------------------------

    def _merged(
        self, work: Work, answers: Answers, partial: bool
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """The object with the answers, the answers as they were understood, the object without what they emptied."""
        not_too_deep(answers)
        before = work["value"]
        read = readable(answers, before, {k: before["?"][k] for k in ("type", "id") if k in before["?"]})
        base = dict(before)
        if not partial:
            base = emptied(self._describer, self._described, before, read, self._fixed)
        value = Merger(self._describer, self._new_id, fixed=self._fixed).merge(self._described, base, read)
        return value, read, base

    def _problems(self, work: Work, read: Answers, base: Mapping[str, Any]) -> list[Diagnostic]:
        found = self._checker.problems(self._described, read, base)
        stored = work["stored"]
        if stored is not None:
            gone = still_used(removed_by(stored, {**base, **read}), self._objects, stored)
            found += [problem for problem in gone if problem not in found]
        return found


def _held(value: Any, path: str) -> Any:
    try:
        return at(value, path)
    except ValueError:
        return None
