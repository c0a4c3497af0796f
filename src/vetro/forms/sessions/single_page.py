"""`SinglePage`: what form sessions have in common whose form is one page, made of a schema."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from vetro.diagnostics import Diagnostic, Text, decode_messages, encode_messages
from vetro.forms.catalog import Describer
from vetro.forms.check import LEVELS, Checker, FileCheck
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.fill import Filler
from vetro.forms.model import Choice, Form, Picker, flaw, flaw_json
from vetro.forms.objects import Objects
from vetro.forms.placement import with_problems
from vetro.forms.sessions.base import Answers, FormFailed, FormSession, Turn, Work
from vetro.forms.values import deeper_than


class SinglePage(FormSession):
    """``objects``: those that references can name; ``cloud``: what there is to choose of a cloud; ``lacks``: what
    is wrong with a file that was given.

    Besides what its own form session keeps, the work has ``found``: problems of the last answers, and ``ready``:
    whether they are acceptable.
    """

    def __init__(
        self,
        describer: Describer,
        objects: Objects,
        *,
        new_id: Callable[[], str],
        deployed: Callable[[str], bool],
        limit: int,
        cloud: CloudChoices | None = None,
        lacks: FileCheck | None = None,
    ) -> None:
        self._describer = describer
        self._objects = objects
        self._new_id = new_id
        self._filler = Filler(describer, objects, deployed=deployed, limit=limit, cloud=cloud)
        self._checker = Checker(describer, objects, lacks)

    @abstractmethod
    def _filled(self, work: Work) -> Form:
        """The form with what was answered."""

    def _unseen(self, work: Work) -> Sequence[Diagnostic]:
        """What is wrong with answers that nobody can look at."""
        return ()

    @abstractmethod
    def _kept(self, work: Work) -> Work:
        """The work without what was found out about it."""

    def page(self, work: Work) -> int:
        return 0

    def form(self, work: Work, page: int | None = None) -> Form:
        found = [flaw(**item) for item in decode_messages(work.get("found") or [])]
        return with_problems(self._filled(work), found or self._unseen(work))

    def pages(self, work: Work) -> Form:
        return self.form(work)

    def back(self, work: Work, page: int) -> Work:
        if page != 0:
            raise FormFailed(Text("There is no page {page}, only one.", page=page + 1))
        return self._kept(work)

    def ready(self, work: Work) -> bool:
        return bool(work.get("ready"))

    def pick(
        self, picker: Picker, what: str, search: str, offset: int, work: Work
    ) -> tuple[Sequence[Choice], bool] | None:
        if what == "types":
            return self._filler.types(picker, search, offset)
        return self._filler.existing(picker, search, offset)

    @staticmethod
    def _turn(kept: Work, problems: Sequence[Diagnostic]) -> Turn:
        if problems:
            return Turn(
                "invalid", {**kept, "found": encode_messages([flaw_json(problem) for problem in problems])}, problems
            )
        return Turn("ready", {**kept, "ready": True})


def not_too_deep(answers: Answers) -> None:
    """Raises `FormFailed` for answers that are nested beyond reason."""
    if deeper_than(answers, LEVELS):
        raise FormFailed(Text("The answers are nested in more than {levels} levels.", levels=LEVELS))
