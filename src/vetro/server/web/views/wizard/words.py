"""Words that pages of forms need in more than one place."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from vetro.diagnostics import AuthorText
from vetro.forms.dynamic.definition import BUILT_IN_FORM
from vetro.forms.model import Page
from vetro.forms.sessions import ReviewWords
from vetro.model.titles import title_of
from vetro.server.caller import Caller
from vetro.server.environments.models import Environment, Template
from vetro.server.forms.views import FormView
from vetro.server.language import translated
from vetro.server.web.logos import logos_of

#: Names of steps that say nothing.
_NO_NAMES = frozenset(("form", "page", "step"))


def script_texts(*, tried: bool = False) -> dict[str, str]:
    """What `fields.js` says; ``{limit}`` stands for a number. ``tried``: of a form that is only tried out."""
    return {
        "required": _("Enter a value."),
        "choose": _("Choose one."),
        "integer": _("Enter a whole number."),
        "number": _("Enter a number."),
        "minimum": _("Enter {limit} or more."),
        "maximum": _("Enter {limit} or less."),
        "exclusive_minimum": _("Enter more than {limit}."),
        "exclusive_maximum": _("Enter less than {limit}."),
        "min_length": _("Enter at least {limit} characters."),
        "max_length": _("Enter at most {limit} characters."),
        "pattern": _("This does not have the form that is wanted."),
        "confirms": _("The two entries are not the same."),
        "unique": _("Another entry has this name."),
        "missing": _("Missing:"),
        "no_password": _("No password could be made. Type one."),
        "saving": _("Saving…"),
        "saved": _("Kept while you try") if tried else _("Saved"),
        "unsaved": _("Not saved. Trying again…"),
        "signed_out": _("You are not signed in any more. What you typed stays here and is saved once you are."),
        "sign_in": _("Sign in"),
        "searching": _("Searching…"),
        "more": _("There is more: search for it."),
        "nothing": _("Nothing found."),
        "file": _("Choose a file."),
        "file_sending": _("Sending {name}, {size}…"),
        "file_waits": _("Sending {name}, {size}… What you pressed is done once it has arrived."),
        "file_given": _("Given: {name}, {size}"),
        "file_large": _("The file has {size}. The files of a project have at most {most} together."),
        "file_room": _("There is no room: the files of a project have at most {most} together. They go by themselves."),
        "file_many": _("There are too many files, or too many requests. Try again in a minute."),
        "file_lost": _("The connection was lost after {sent} of {size}."),
        "file_gone": _("The service does not have the file any more. Try again: it is sent anew."),
        "file_unread": _("The file cannot be read. If it was changed, choose it again."),
        "file_out": _("You are not signed in any more. Sign in in another tab, then try again."),
    }


def step_title(page: Page, number: int, source: str) -> str:
    """What a page of a form is called: definitions have names for their steps, which authors write as words of code."""
    if source != "definition" or isinstance(page.title, AuthorText):
        return translated(page.title)
    if page.name == BUILT_IN_FORM:
        return _("Finish")
    return named(page.name) or _("Step %d") % (number + 1)


def named(name: str) -> str:
    """The name of a step in words; empty for one that says nothing."""
    title = title_of(name)
    says_something = any(character.isalnum() for character in name) and title.split()[0].casefold() not in _NO_NAMES
    return title if says_something else ""


def review_words() -> ReviewWords:
    """What answers are called on the page that shows them once more."""
    return ReviewWords(_("yes"), _("no"), _("new {name}"), translated)


def around(caller: Caller, shown: FormView) -> dict[str, Any]:
    """(id, name) of the environment, or of the template, that a form is for, and the logo of its package."""
    environments, templates = Environment.objects.filter(id=shown.environment_id), Template.objects.none()
    if shown.template_id is not None:
        templates = Template.objects.filter(id=shown.template_id)
    logos = logos_of(caller, [shown.package["fqn"]]) if shown.package is not None else {}
    return {
        "environment": environments.values_list("id", "name").first() if shown.environment_id is not None else None,
        "template": templates.values_list("id", "name").first(),
        "logo": next(iter(logos.values()), ""),
    }
