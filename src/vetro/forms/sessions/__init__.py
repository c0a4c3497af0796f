"""Form sessions: a form being filled in, whoever made it and whoever shows it (pages, API, command line).

A form session keeps nothing. Its *work* is plain JSON that the caller stores (encrypted: it holds secrets) and gives
back::

    form_session = ClassFormSession(…) | DefinitionFormSession(…) | MethodFormSession(…)
    work = form_session.begin()
    form = form_session.form(work)                     # model.Form, the due page filled in
    work = form_session.evaluate(work, answers)        # what was typed so far; nothing is complained about
    turn = form_session.submit(work, answers)          # Turn: outcome next | invalid | ready
    work = form_session.back(turn.work, 0)             # form_session.done(work): pages that were answered
    result = form_session.result(turn.work)            # once turn.outcome is "ready"

Answers are those of one page and complete: what is shown, not read-only and missing was emptied; with ``partial`` it
was left as it is.
"""

from vetro.forms.sessions.base import FormFailed, FormSession, Turn, Work
from vetro.forms.sessions.classes import ClassFormSession
from vetro.forms.sessions.definition import DefinitionFormSession
from vetro.forms.sessions.methods import MethodFormSession
from vetro.forms.sessions.review import Earlier, ReviewPage, ReviewWords, review

__all__ = [
    "ClassFormSession",
    "DefinitionFormSession",
    "Earlier",
    "FormFailed",
    "FormSession",
    "MethodFormSession",
    "ReviewPage",
    "ReviewWords",
    "Turn",
    "Work",
    "review",
]  # fmt: skip
