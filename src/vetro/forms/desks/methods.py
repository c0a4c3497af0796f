"""`MethodDesk`: the arguments of an action being filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.forms.answers import Merger
from vetro.forms.catalog import Describer
from vetro.forms.checking import LEVELS, Checker
from vetro.forms.desks.base import Answers, Desk, FormFailed, Turn, Work
from vetro.forms.desks.classes import plain_problem
from vetro.forms.desks.merging import restored
from vetro.forms.filling import Filler
from vetro.forms.generated import method_form
from vetro.forms.keywords import Schema
from vetro.forms.model import Choice, Form, Picker, Problem
from vetro.forms.objects import Objects
from vetro.forms.placing import with_problems
from vetro.forms.values import deeper_than


class MethodDesk(Desk):
    """``schema``: that of the method. The work is ``{args, found, ready}``."""

    source = "method"

    def __init__(
        self,
        describer: Describer,
        schema: Schema,
        objects: Objects,
        *,
        new_id: Callable[[], str],
        limit: int = 100,
    ) -> None:
        self._describer = describer
        self._objects = objects
        self._new_id = new_id
        self._empty = method_form(schema)
        self._filler = Filler(describer, objects, limit=limit)

    def begin(self) -> Work:
        return {"args": {}}

    def page(self, work: Work) -> int:
        return 0

    def form(self, work: Work, page: int | None = None) -> Form:
        form = self._filler.method(self._empty, work["args"])
        return with_problems(form, [Problem(**item) for item in work.get("found") or ()])

    def pages(self, work: Work) -> Form:
        return self.form(work)

    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        return {"args": self._args(work, answers, partial)}

    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Problem]:
        return Checker(self._describer, self._objects).arguments(self._empty, self._given(work, answers, False))

    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        given = self._given(work, answers, partial)
        problems = Checker(self._describer, self._objects).arguments(self._empty, given)
        kept: Work = {"args": self._args(work, answers, partial)}
        if problems:
            return Turn("invalid", {**kept, "found": [plain_problem(item) for item in problems]}, problems)
        return Turn("ready", {**kept, "ready": True})

    def back(self, work: Work, page: int) -> Work:
        if page != 0:
            raise FormFailed(f"There is no page {page + 1}, only one.")
        return {"args": work["args"]}

    def ready(self, work: Work) -> bool:
        return bool(work.get("ready"))

    def result(self, work: Work) -> dict[str, Any]:
        args: dict[str, Any] = work["args"]
        return args

    def pick(
        self, picker: Picker, what: str, search: str, offset: int, work: Work
    ) -> tuple[Sequence[Choice], bool] | None:
        if what == "types":
            return self._filler.types(picker, search, offset)
        return self._filler.existing(picker, search, offset)

    def _given(self, work: Work, answers: Answers, partial: bool) -> dict[str, Any]:
        if deeper_than(answers, LEVELS):
            raise FormFailed(f"The answers are nested in more than {LEVELS} levels.")
        found: dict[str, Any] = restored(dict(answers), work["args"])
        return {**work["args"], **found} if partial else found

    def _args(self, work: Work, answers: Answers, partial: bool) -> dict[str, Any]:
        return Merger(self._describer, self._new_id).arguments(self._empty, self._given(work, answers, partial))
