"""Words that pages of forms need in more than one place."""

from __future__ import annotations

from django.utils.translation import gettext as _

from vetro.server.environments.models import Environment
from vetro.server.formdesk.shown import Shown


def script_texts() -> dict[str, str]:
    """What `fields.js` says; ``{limit}`` stands for a number."""
    return {
        "required": _("Enter a value."),
        "integer": _("Enter a whole number."),
        "number": _("Enter a number."),
        "minimum": _("Enter {limit} or more."),
        "maximum": _("Enter {limit} or less."),
        "min_length": _("Enter at least {limit} characters."),
        "max_length": _("Enter at most {limit} characters."),
        "pattern": _("This does not have the form that is wanted."),
        "confirms": _("The two entries are not the same."),
        "unique": _("Another entry has this name."),
        "saving": _("Saving…"),
        "saved": _("Saved"),
        "unsaved": _("Not saved. Trying again…"),
        "searching": _("Searching…"),
        "more": _("There is more: search for it."),
        "nothing": _("Nothing found."),
    }


def environment_of(shown: Shown) -> tuple[str, str] | None:
    """(id, name) of the environment of a form."""
    if shown.environment_id is None:
        return None
    return Environment.objects.filter(id=shown.environment_id).values_list("id", "name").first()
