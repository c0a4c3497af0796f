"""`spoken`: a field with the texts that are ours, not its author's, in the language of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import get_language

from vetro.forms.model import Choice, Field
from vetro.server.language import translated


def spoken(item: Field) -> Field:
    """The field, without looking at those in it."""
    if (get_language() or "en").startswith("en"):
        return item
    return replace(
        item,
        label=translated(item.label),
        description=translated(item.description),
        description_title=translated(item.description_title),
        help=translated(item.help),
        placeholder=translated(item.placeholder),
        messages={code: translated(text) for code, text in item.messages.items()},
        choices=_choices(item.choices),
        picker=item.picker and replace(item.picker, existing=_choices(item.picker.existing)),
    )


def _choices(choices: Sequence[Choice]) -> Sequence[Choice]:
    return [replace(choice, label=translated(choice.label)) for choice in choices]
