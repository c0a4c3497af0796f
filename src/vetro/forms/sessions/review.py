"""What was answered, as text to be read once more before it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vetro.forms.model import Field, Form, Section
from vetro.model.header import class_of, header_of
from vetro.model.paths import pointer
from vetro.model.secrets import is_mark

DOTS = "••••••"
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ReviewWords:
    """What answers are called that have no text of their own; ``{name}`` is that of a class."""

    yes: str = "yes"
    no: str = "no"
    new: str = "new {name}"


_ENGLISH: Final = ReviewWords()


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page: (label, text, path) of each answer, in order; labels of nested ones with those around them."""

    title: str
    rows: Sequence[tuple[str, str, str]]


def review(form: Form, words: ReviewWords = _ENGLISH) -> list[ReviewPage]:
    """All pages of a form that was filled in (`FormSession.pages`). Hidden fields and confirmations are left out."""
    return [ReviewPage(page.title, list(_rows(page.sections, "", "", words))) for page in form.pages]


def text_of(field: Field, words: ReviewWords = _ENGLISH) -> str:
    """The answer of one field as people know it: the label of a choice, the name of an object."""
    value = field.value if field.answered else field.initial
    if field.secret:
        return DOTS if field.answered and value is not None else NOTHING
    if value is None or value == "" or value == [] or value == {}:
        return NOTHING
    choices = (*field.choices, *(field.picker.existing if field.picker is not None else ()))
    for choice in choices:
        if choice.value == value and type(choice.value) is type(value):
            return choice.label or NOTHING
    return _plain(value, words)


def _rows(sections: Sequence[Section], path: str, label: str, words: ReviewWords) -> Iterator[tuple[str, str, str]]:
    for section in sections:
        for field in section.fields:
            if not field.visible or field.confirms:
                continue
            name = f"{label} / {field.label}" if label else field.label
            here = path + pointer(field.name)
            inner = list(_rows(field.sections, here, name, words)) if field.answered else []
            if inner and not field.secret:
                if header_of(field.value) is not None:
                    yield name, _object_text(field.value, words), here
                yield from inner
            else:
                yield name, text_of(field, words), here


def _object_text(value: Mapping[str, Any], words: ReviewWords) -> str:
    name, given = class_of(value).rpartition(".")[2], value["?"].get("name")
    return f"{given} ({name})" if given else words.new.format(name=name)


def _plain(value: Any, words: ReviewWords) -> str:
    if isinstance(value, bool):
        return words.yes if value else words.no
    if is_mark(value):
        return DOTS
    if isinstance(value, Mapping):
        if header_of(value) is not None:
            return _object_text(value, words)
        return ", ".join(f"{key}: {_plain(item, words)}" for key, item in value.items()) or NOTHING
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(item, words) for item in value if item is not None) or NOTHING
    return NOTHING if value is None else str(value)
