"""Problems at their fields: what was found by path is put where a reader of the form meets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from vetro.diagnostics import Diagnostic
from vetro.forms.catalog import all_fields
from vetro.forms.model import Field, Form, Page, Section
from vetro.model.paths import pointer


def with_problems(form: Form, problems: Iterable[Diagnostic], page: int = 0) -> Form:
    """``form`` with the problems of one page: each at the innermost field its path leads to, else at the page."""
    found = list(problems)
    if not found:
        return form
    sections, left = _placed(form.pages[page].sections, found, "")
    shown = replace(form.pages[page], sections=sections, problems=(*form.pages[page].problems, *left))
    return replace(form, pages=tuple(shown if number == page else other for number, other in enumerate(form.pages)))


def problems_in(page: Page) -> list[Diagnostic]:
    """All problems of a page, its own first, then those of its fields in their order."""
    return [*page.problems, *(p for field in page.fields() for p in _below(field))]


def field_at(page: Page, path: str) -> Field | None:
    """The field that a JSON pointer into the answers leads to; for a new item of a list or map the field of items."""
    sections: Sequence[Section] = page.sections
    found: Field | None = None
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        inner = next((f for f in all_fields(sections) if f.name == name), None)
        if inner is None and found is not None:
            inner = _part(found, name)
        if inner is None:
            return None
        found, sections = inner, inner.sections
    return found


def _part(field: Field, step: str) -> Field | None:
    if field.kind in ("list", "tuple") and step.isdecimal() and int(step) < len(field.leading):
        return field.leading[int(step)]
    return field.items


def _placed(
    sections: Sequence[Section], problems: Sequence[Diagnostic], above: str
) -> tuple[tuple[Section, ...], list[Diagnostic]]:
    """The sections with what belongs below them, and the problems that belong to none of their fields."""
    left = list(problems)
    made = []
    for section in sections:
        fields = []
        for field in section.fields:
            path = above + pointer(field.name)
            own = [p for p in left if p.place == path or p.place.startswith(path + "/")]
            if own:
                left = [p for p in left if p not in own]
                inner, mine = _placed(field.sections, own, path)
                field = replace(field, sections=inner, problems=(*field.problems, *mine))
            fields.append(field)
        made.append(replace(section, fields=tuple(fields)))
    return tuple(made), left


def _below(field: Field) -> Iterator[Diagnostic]:
    yield from field.problems
    for section in field.sections:
        for inner in section.fields:
            yield from _below(inner)
