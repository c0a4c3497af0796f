"""The page that every wizard of a definition has by itself: the application's name. One question is no page of its own:
it stands at the end of the author's last page, and is sent with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic
from vetro.forms.dynamic.definition import BUILT_IN_FORM
from vetro.model.paths import pointer
from vetro.server.caller import Caller
from vetro.server.forms import form_session
from vetro.server.forms.views import FormView
from vetro.server.web.views.wizard.control import Group
from vetro.server.web.views.wizard.controls import groups_of
from vetro.server.web.views.wizard.input import Read, answers_below

#: Name of the input that says: the answers of this page are sent along.
MARKER = "last-step"
#: Where its answers are among those of the page.
_PLACE = pointer(BUILT_IN_FORM)


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands below the author's own questions: nothing where ``number`` is None."""

    number: int | None = None
    groups: Sequence[Group] = ()
    problems: Sequence[Diagnostic] = ()


def of(shown: FormView) -> int | None:
    """The number of the page that stands below the one before it; None where there is none."""
    pages = shown.form.pages
    if shown.source == "definition" and len(pages) > 1 and pages[-1].name == BUILT_IN_FORM:
        return len(pages) - 1
    return None


def below(caller: Caller, shown: FormView) -> Tail:
    """What is asked below the page that is shown."""
    number = of(shown)
    if number is None or shown.page != number - 1:
        return Tail()
    last = form_session.describe(caller, shown.id, number)
    problems = [replace(problem, place=_PLACE + problem.place) for problem in last.problems]
    return Tail(number, groups_of(last.form.pages[number], plain=True, below=_PLACE), problems)


def taken(sent: QueryDict, told: Read) -> tuple[int | None, Mapping[str, Any]]:
    """The number of that page and its answers; None where it was not sent along."""
    number = sent.get(MARKER, "")
    if not (number.isascii() and number.isdecimal() and len(number) < 5):
        return None, {}
    return int(number), answers_below(told, BUILT_IN_FORM)
