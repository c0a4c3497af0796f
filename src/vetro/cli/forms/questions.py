"""The questions that a page of a form asks a person at a terminal, in order: fields, and those inside of objects.

The list follows from the answers so far: a new object brings the fields of its class, another item those of the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from vetro.data_classes import dataclass
from vetro.forms.fill import ENTRIES
from vetro.forms.model import Field, Page, Section
from vetro.model.paths import ABSENT, at, pointer

#: ``value``: one value. ``list``, ``map``: plain items, entered one after the other. ``fill``: whether to enter an
#: optional group at all. ``more``: another item with fields of its own. ``text``: something to read, no question.
What = Literal["value", "list", "map", "fill", "more", "text"]
Opened = Mapping[str, Mapping[str, Any]]
_NONE: Opened = {}
_PLAIN = frozenset({"string", "integer", "number", "boolean", "choice"})


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``path``: a pointer into the answers of the page; ``label``: with those of what is around it."""

    path: str
    field: Field
    label: str
    what: What = "value"

    @property
    def key(self) -> tuple[str, str]:
        """What tells questions of one page apart."""
        return self.path, self.what


def questions(page: Page, *, everything: bool = True, opened: Opened = _NONE) -> list[Question]:
    """All questions of a page; without ``everything`` those of the simple form (`Field.level`).

    ``opened``: groups that are to be filled in though nothing in them was answered, with what they hold by default.
    """
    found = list(_in_sections(page.sections, "", "", opened))
    if everything:
        return found
    hidden = [
        q.path for q in found if q.field.level == "advanced" and not (q.field.required and q.field.initial is None)
    ]
    return [q for q in found if not any(within(q.path, path) for path in hidden)]


def _in_sections(sections: Sequence[Section], path: str, label: str, opened: Opened) -> Iterator[Question]:
    for section in sections:
        for field in section.fields:
            name = f"{label} / {field.label}" if label else field.label
            yield from _of_field(field, path + pointer(field.name), name, opened)


def _of_field(field: Field, path: str, label: str, opened: Opened) -> Iterator[Question]:
    # What is not enabled is neither required nor checked: nobody at a terminal wants to be asked for it.
    if not field.visible or not field.enabled or field.confirms:
        return
    if field.widget == "error-text" or field.read_only:
        yield Question(path, field, label, "text")
    elif field.widget == "names" or field.secret:
        yield Question(path, field, label)
    elif field.kind in ("list", "tuple") and (field.items is not None or field.leading):
        yield from _of_list(field, path, label, opened)
    elif field.kind in ("map", "object"):
        yield from _of_map(field, path, label, opened)
    else:
        yield Question(path, field, label)
        if field.kind == "reference" and isinstance(field.value, Mapping):
            yield from _in_sections(field.sections, path, label, opened)


def _of_list(field: Field, path: str, label: str, opened: Opened) -> Iterator[Question]:
    if field.items is not None and not field.leading and _is_plain(field.items):
        yield Question(path, field, label, "list")
        return
    yield from _in_sections(field.sections, path, label, opened)
    yield Question(path, field, label, "more")


def _of_map(field: Field, path: str, label: str, opened: Opened) -> Iterator[Question]:
    named = [section for section in field.sections if section.name != ENTRIES]
    if named and any(section.fields for section in named):
        if path in opened and (not field.answered or field.value is None):
            named = [_holding(section, opened[path]) for section in named]
        elif not field.answered or field.value is None:
            yield Question(path, field, label, "fill")
            return
        yield from _in_sections(named, path, label, opened)
    if field.items is None:
        if not named:
            yield Question(path, field, label)
        return
    if _is_plain(field.items):
        yield Question(path, field, label, "map")
        return
    yield from _in_sections([s for s in field.sections if s.name == ENTRIES], path, label, opened)
    yield Question(path, field, label, "more")


def _holding(section: Section, values: Mapping[str, Any]) -> Section:
    """The section with values that its fields have by default."""
    fields = [replace(f, initial=values[f.name]) if f.name in values else f for f in section.fields]
    return replace(section, fields=tuple(fields))


def _is_plain(items: Field) -> bool:
    return items.kind in _PLAIN and not items.secret


def is_there(answers: Mapping[str, Any], path: str) -> bool:
    """Whether there is a value, other than null, at ``path``."""
    try:
        return at(answers, path) not in (ABSENT, None)
    except ValueError:
        return False


def put(answers: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the answers with ``value`` at ``path``; groups and items on the way are made."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    found: dict[str, Any] = _put(answers, steps, value)
    return found


def _put(around: Any, steps: Sequence[str], value: Any) -> Any:
    if not steps:
        return value
    if isinstance(around, (list, tuple)):
        made = list(around)
        index = int(steps[0])
        made.extend([None] * (index + 1 - len(made)))
        made[index] = _put(made[index], steps[1:], value)
        return made
    found = dict(around) if isinstance(around, Mapping) else {}
    found[steps[0]] = _put(found.get(steps[0]), steps[1:], value)
    return found


def without(answers: dict[str, Any], path: str) -> dict[str, Any]:
    """A copy of the answers in which nothing is answered at ``path``."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    found: dict[str, Any] = _without(answers, steps)
    return found


def _without(around: Any, steps: Sequence[str]) -> Any:
    if isinstance(around, (list, tuple)):
        made = list(around)
        if len(steps) == 1:
            return [item for number, item in enumerate(around) if number != int(steps[0])]
        made[int(steps[0])] = _without(made[int(steps[0])], steps[1:])
        return made
    if not isinstance(around, Mapping) or steps[0] not in around:
        return around
    if len(steps) == 1:
        return {key: part for key, part in around.items() if key != steps[0]}
    return {**around, steps[0]: _without(around[steps[0]], steps[1:])}


def within(path: str, around: str) -> bool:
    """Whether a pointer is another one, or leads further into it."""
    return path == around or path.startswith(around + "/")
