"""`spoken`: a field with the texts that are ours, not its author's, in the language of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import get_language

from vetro.forms.model import Choice, Field
from vetro.server.web.rule_texts import in_words, phrase


def spoken(item: Field) -> Field:
    """The field, without looking at those in it."""
    if (get_language() or "en").startswith("en"):
        return item
    return replace(
        item,
        label=phrase(item.label),
        description=phrase(item.description),
        description_title=phrase(item.description_title),
        help=phrase(item.help),
        placeholder=phrase(item.placeholder),
        messages={code: in_words(text) for code, text in item.messages.items()},
        choices=_choices(item.choices),
        picker=item.picker and replace(item.picker, existing=_choices(item.picker.existing)),
    )


def _choices(choices: Sequence[Choice]) -> Sequence[Choice]:
    return [replace(choice, label=in_words(choice.label)) for choice in choices]
