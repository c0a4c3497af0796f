"""Desks: a form being filled in, whoever made it and whoever shows it (pages, API, command line).

A desk keeps nothing. Its *work* is plain JSON that the caller stores (encrypted: it holds secrets) and gives back::

    desk = ClassDesk(…) | DefinitionDesk(…) | MethodDesk(…)
    work = desk.begin()
    form = desk.form(work)                                     # model.Form, the due page filled in
    work = desk.evaluate(work, answers)                        # what was typed so far; nothing is complained about
    turn = desk.submit(work, answers)                          # Turn: outcome next | invalid | ready
    work = desk.back(turn.work, 0)                             # desk.done(work): pages that were answered
    result = desk.result(turn.work)                            # once turn.outcome is "ready"

Answers are those of one page and complete: what is shown, not read-only and missing was emptied; with ``partial`` it
was left as it is.
"""

from vetro.forms.sessions.base import Desk, FormFailed, Turn, Work
from vetro.forms.sessions.classes import ClassDesk
from vetro.forms.sessions.definition import DefinitionDesk
from vetro.forms.sessions.methods import MethodDesk
from vetro.forms.sessions.review import ReviewPage, ReviewWords, review

__all__ = [
    "ClassDesk", "DefinitionDesk", "Desk", "FormFailed", "MethodDesk", "ReviewPage", "ReviewWords", "Turn", "Work",
    "review",
]  # fmt: skip
