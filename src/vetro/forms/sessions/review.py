"""What was answered, as text to be read once more before it counts; of something that is edited also what was there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.forms.model import Field, Form, Section
from vetro.forms.values import same
from vetro.model.files import stored_in
from vetro.model.header import class_of, header_of
from vetro.model.paths import pointer
from vetro.model.secrets import is_mark

DOTS = "••••••"
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ReviewWords:
    """What answers are called that have no text of their own, and labels; ``{name}`` is that of a class."""

    yes: str = "yes"
    no: str = "no"
    new: str = "new {name}"
    #: Says the labels of fields and choices in that language.
    said: Callable[[str], str] = str


_ENGLISH: Final = ReviewWords()


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page: (label, text, path) of each answer, in order; labels of nested ones with those around them.

    ``own``: paths of answers that are other than what the form suggests, and of objects that are used: to take the only
    one that there is was a decision, too. ``before``: path -> text of what was there, of each answer that an edit
    changes; the last rows may be what it takes away.
    """

    title: str
    rows: Sequence[tuple[str, str, str]]
    own: frozenset[str] = frozenset()
    before: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a form held before it was edited. ``changed``: whether the secret at a path of a page is another one."""

    form: Form
    changed: Callable[[int, str], bool]


def review(form: Form, words: ReviewWords = _ENGLISH, earlier: Earlier | None = None) -> list[ReviewPage]:
    """All pages of a form that was filled in (`FormSession.pages`). Hidden fields and confirmations are left out."""
    made = []
    for number, page in enumerate(form.pages):
        found = list(_rows(page.sections, "", "", words))
        rows = [(label, text, path) for label, text, path, _, _ in found]
        own = frozenset(path for _, _, path, own, _ in found if own)
        if earlier is None or number >= len(earlier.form.pages):
            made.append(ReviewPage(page.title, rows, own))
            continue
        old = {row[2]: row for row in _rows(earlier.form.pages[number].sections, "", "", words)}
        before = {}
        for _label, text, path, _own, secret in found:
            was = old.pop(path)[1] if path in old else NOTHING
            if was != text or (secret and earlier.changed(number, path)):
                before[path] = was
        gone = [(label, NOTHING, path) for label, text, path, _, _ in old.values() if text != NOTHING]
        before |= {path: old[path][1] for _, _, path in gone}
        made.append(ReviewPage(page.title, [*rows, *gone], own, before))
    return made


def text_of(field: Field, words: ReviewWords = _ENGLISH) -> str:
    """The answer of one field as people know it: the label of a choice, the name of an object."""
    value = field.value if field.answered else field.initial
    if _of_choices(field) and field.answered and not field.secret:
        items = [text_of(part, words) for section in field.sections for part in section.fields]
        return ", ".join(text for text in items if text != NOTHING) or NOTHING
    if field.secret:
        return DOTS if field.answered and value is not None else NOTHING
    if value is None or value == "" or value == [] or value == {}:
        return NOTHING
    choices = (*field.choices, *(field.picker.existing if field.picker is not None else ()))
    for choice in choices:
        if choice.value == value and type(choice.value) is type(value):
            return words.said(choice.label) or NOTHING
    return _plain(value, words)


def _of_choices(field: Field) -> bool:
    """Whether it is a list of choices, which read best in one line."""
    return field.kind == "list" and field.items is not None and field.items.kind == "choice"


def _rows(
    sections: Sequence[Section], path: str, label: str, words: ReviewWords
) -> Iterator[tuple[str, str, str, bool, bool]]:
    """(label, text, path, whether it is other than what the form suggests, whether it is a secret)."""
    for section in sections:
        for field in section.fields:
            if not field.visible or field.confirms:
                continue
            called = words.said(field.label)
            name = f"{label} / {called}" if label else called
            here = path + pointer(field.name)
            inner = list(_rows(field.sections, here, name, words)) if field.answered and not _of_choices(field) else []
            if inner and not field.secret:
                if header_of(field.value) is not None:
                    yield name, _object_text(field.value, words), here, True, False
                yield from inner
            else:
                text = text_of(field, words)
                suggested = field.picker is None and same(field.value, field.initial)
                own = field.answered and text != NOTHING and not suggested
                yield name, text, here, own, field.secret


def _object_text(value: Mapping[str, Any], words: ReviewWords) -> str:
    if (stored := stored_in(value)) is not None:
        return stored[0]
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
