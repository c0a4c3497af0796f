"""`MethodFormSession`: the arguments of an action being filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.diagnostics import Diagnostic
from vetro.forms.answers import Merger
from vetro.forms.catalog import Describer
from vetro.forms.check import FileCheck
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.generated import method_form
from vetro.forms.keywords import Schema
from vetro.forms.model import Form
from vetro.forms.objects import Objects
from vetro.forms.sessions.base import Answers, Turn, Work
from vetro.forms.sessions.merge import restored
from vetro.forms.sessions.single_page import SinglePage, not_too_deep


class MethodFormSession(SinglePage):
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
        cloud: CloudChoices | None = None,
        lacks: FileCheck | None = None,
    ) -> None:
        super().__init__(
            describer, objects, new_id=new_id, deployed=lambda id: False, limit=limit, cloud=cloud, lacks=lacks
        )
        self._empty = method_form(schema)

    def begin(self) -> Work:
        return {"args": {}}

    def _filled(self, work: Work) -> Form:
        return self._filler.method(self._empty, work["args"])

    def _kept(self, work: Work) -> Work:
        return {"args": work["args"]}

    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        return {"args": self._args(work, answers, partial)}

    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Diagnostic]:
        return self._checker.arguments(self._empty, self._given(work, answers, False))

    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        problems = self._checker.arguments(self._empty, self._given(work, answers, partial))
        return self._turn({"args": self._args(work, answers, partial)}, problems)

    def result(self, work: Work) -> dict[str, Any]:
        args: dict[str, Any] = work["args"]
        return args

    def _given(self, work: Work, answers: Answers, partial: bool) -> dict[str, Any]:
        not_too_deep(answers)
        found: dict[str, Any] = restored(dict(answers), work["args"])
        return {**work["args"], **found} if partial else found

    def _args(self, work: Work, answers: Answers, partial: bool) -> dict[str, Any]:
        return Merger(self._describer, self._new_id).arguments(self._empty, self._given(work, answers, partial))
