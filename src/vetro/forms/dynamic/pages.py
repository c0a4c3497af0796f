"""Resolved fields as pages of the form model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.dynamic.definition import BUILT_IN_FORM, FormDefinition
from vetro.forms.dynamic.environment import Surroundings
from vetro.forms.dynamic.last_step import STAY, STAY_LABEL, STAY_TEXT, asks_to_stay
from vetro.forms.dynamic.names import ALL
from vetro.forms.dynamic.types.base import KEPT, Resolved
from vetro.forms.model import Choice, Field, Page, Section, flaw
from vetro.forms.vocabulary import patterns_of

#: Kinds of controls with a place for a placeholder.
_TYPED = frozenset({"", "textarea", "password", "ipv4", "names"})


def build_page(
    form: FormDefinition,
    number: int,
    fields: Sequence[Resolved],
    answers: Mapping[str, Any] | None,
    errors: Mapping[str, Sequence[str]],
    form_errors: Sequence[str],
    surroundings: Surroundings,
    *,
    reveal: bool = False,
) -> Page:
    """The page of one step. ``answers`` is what was sent for it, None when nothing was yet.

    Secrets are left out unless ``reveal``: then the page must not leave the server.
    """
    intro: list[str] = []
    shown: list[Field] = []
    notices: list[Diagnostic] = []
    for field in fields:
        if field.hidden:
            intro += [text for text in (field.description, field.description_title) if text]
        shown.append(_field(field, form.name, answers, errors.get(field.name, ()), reveal))
        notices += [flaw(f"/{_escaped(field.name)}", text, "notice") for text in dict.fromkeys(field.notices)]
    sections = [Section(fields=shown)]
    if form.name == BUILT_IN_FORM and not asks_to_stay(surroundings):
        sections.append(Section(STAY, STAY_LABEL, STAY_TEXT))
    problems = [*(flaw("", text) for text in form_errors), *notices]
    return Page(form.name, f"Step {number + 1}", sections, intro, problems)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _field(field: Resolved, form: str, answers: Mapping[str, Any] | None, errors: Sequence[str], reveal: bool) -> Field:
    definition = field.definition
    kind = definition.type
    constant = definition.resolved is field and answers is None and not errors and not kind.secret
    if constant and definition.shown is not None:
        return definition.shown  # type: ignore[no-any-return]
    secret = kind.secret
    initial = field.initial
    if kind.widget == "select" and initial.__class__ in (int, float, bool):
        initial = str(initial)
    # What was hidden when the others were answered shows its initial value when it comes.
    answered = answers is not None and not (field.name not in answers and definition.revealed)
    value = kind.answer(answers.get(field.name), field) if answers is not None and answered else None
    if secret:
        # A secret that the definition itself supplies is one that the person need not see, either.
        answered = (answered and value not in (None, "")) or (initial is not None and not answered)
        if not reveal:
            value, initial = KEPT if answered else None, None
    problems = [flaw(f"/{_escaped(field.name)}", text) for text in errors]
    if field.unavailable:
        problems.append(flaw(f"/{_escaped(field.name)}", field.unavailable, "unavailable"))
    choices: Sequence[Choice] = field.choices
    messages = field.messages
    if field.instead:
        messages = {**messages, "instead": field.instead}
    made = Field(
        name=field.name,
        kind=kind.kind,
        label=field.label,
        description="" if field.hidden else field.description,
        description_title="" if field.hidden or not field.description else field.description_title or field.label,
        help=field.help,
        placeholder="" if field.required or kind.kind == "boolean" or kind.widget not in _TYPED else Text("Optional"),
        required=field.required,
        nullable=kind.empty is None,
        visible=not field.hidden,
        enabled=field.enabled,
        read_only=field.disabled,
        secret=secret,
        widget="error-text" if field.instead and not field.hidden else kind.widget,
        initial=initial,
        value=value,
        answered=answered,
        constraints=_constraints(field),
        choices=choices,
        depends_on=_depends(field, form),
        messages=messages,
        confirms=field.confirms,
        picker=field.picker,
        attributes=field.attributes,
        media=field.media,
        problems=problems,
    )
    if constant:
        definition.shown = made
    return made


def _constraints(field: Resolved) -> dict[str, Any]:
    unit = "Items" if field.definition.type.kind == "list" else "Length"
    limits = {
        f"min{unit}": field.min_length,
        f"max{unit}": field.max_length,
        "minimum": field.minimum,
        "maximum": field.maximum,
    }
    patterns = patterns_of(
        (rule.pattern.text, "" if rule.stock else rule.message) for rule in field.rules if rule.pattern is not None
    )
    return {**{keyword: limit for keyword, limit in limits.items() if limit is not None}, **patterns}


def _depends(field: Resolved, form: str) -> Sequence[str]:
    """Fields of the same page that this one reads. Where a form is read as a whole, ``""``."""
    found = {name for read, name in field.definition.reads if read in (form, ALL)}
    return sorted("" if name == ALL else f"/{_escaped(name)}" for name in found)
