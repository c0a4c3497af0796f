"""Schemas and forms with the translations that packages bring (`vetro.packages.texts`): each text that people read is
an `AuthorText` then, which is its English text for everybody who does not ask for more. Values, names and rules stay
what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vetro.diagnostics import AuthorText, Diagnostic
from vetro.forms.keywords import Schema
from vetro.forms.model import Choice, Field, Form, Page, Section
from vetro.model.titles import title_of
from vetro.packages.texts import Translations, authored

#: Keywords that are texts; that have a schema, several, or some by name.
_TEXTS: Final = ("title", "description", "helpText", "message")
_ONE: Final = ("items", "additionalProperties", "propertyNames", "context")
_SEVERAL: Final = ("prefixItems", "allOf")
_LEVELS: Final = 50


def with_translations(schema: Schema, translations: Translations) -> Schema:
    """The schema of a class or method (`vetro.muranopl.schemas`)."""
    if not translations:
        return schema
    made = dict(_schema(schema, translations, 0))
    if "formSections" in made:
        made["formSections"] = {name: _texts(one, translations) for name, one in made["formSections"].items()}
    if "formPresets" in made:
        made["formPresets"] = [_texts(one, translations) for one in made["formPresets"]]
    return made


def _schema(schema: Any, translations: Translations, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _LEVELS:
        return schema
    made = _texts(schema, translations)
    told = {value: authored(value, translations) for value in made.get("enum", ()) if isinstance(value, str)}
    if any(isinstance(text, AuthorText) for text in told.values()):
        made["choiceTexts"] = told
    for key in _ONE:
        if key in made:
            made[key] = _schema(made[key], translations, depth + 1)
    for key in _SEVERAL:
        if key in made:
            made[key] = [_schema(part, translations, depth + 1) for part in made[key]]
    if isinstance(made.get("properties"), Mapping):
        made["properties"] = {
            name: _titled(_schema(part, translations, depth + 1), name, translations)
            for name, part in made["properties"].items()
        }
    return made


def _titled(part: Any, name: str, translations: Translations) -> Any:
    """With the title that forms make of its name, where it has none and that is translated."""
    if not isinstance(part, dict) or part.get("title"):
        return part
    title = title_of(name)
    told = authored(title, translations)
    return part if told is title else {**part, "title": told}


def _texts(one: Mapping[str, Any], translations: Translations) -> dict[str, Any]:
    made = dict(one)
    for key in _TEXTS:
        if isinstance(made.get(key), str):
            made[key] = authored(made[key], translations)
    return made


# -- forms of UI definitions -------------------------------------------------------------------------------------------


def translated_form(form: Form, translations: Translations) -> Form:
    """A form that was made of the definition of a package."""
    if not translations:
        return form
    return replace(
        form,
        title=authored(form.title, translations),
        description=authored(form.description, translations),
        help=authored(form.help, translations),
        pages=[_page(page, translations) for page in form.pages],
        problems=translated_problems(form.problems, translations),
    )


def translated_problems(problems: Sequence[Diagnostic], translations: Translations) -> list[Diagnostic]:
    """Problems that the author's own rules found."""
    return [replace(problem, message=authored(problem.message, translations)) for problem in problems]


def _page(page: Page, translations: Translations) -> Page:
    return replace(
        page,
        title=_step(page, translations),
        intro=[authored(text, translations) for text in page.intro],
        sections=_sections(page.sections, translations),
        problems=translated_problems(page.problems, translations),
    )


def _step(page: Page, translations: Translations) -> str:
    """Steps are called by their name in words."""
    told = authored(title_of(page.name), translations)
    return told if isinstance(told, AuthorText) else authored(page.title, translations)


def _sections(sections: Sequence[Section], translations: Translations) -> list[Section]:
    return [
        replace(
            section,
            title=authored(section.title, translations),
            description=authored(section.description, translations),
            fields=[_field(field, translations) for field in section.fields],
        )
        for section in sections
    ]


def _field(field: Field, translations: Translations) -> Field:
    return replace(
        field,
        label=authored(field.label, translations),
        description=authored(field.description, translations),
        description_title=authored(field.description_title, translations),
        help=authored(field.help, translations),
        messages={code: authored(text, translations) for code, text in field.messages.items()},
        constraints=_constraints(field.constraints, translations),
        choices=_choices(field.choices, translations),
        items=None if field.items is None else _field(field.items, translations),
        leading=[_field(part, translations) for part in field.leading],
        sections=_sections(field.sections, translations),
        problems=translated_problems(field.problems, translations),
    )


def _constraints(constraints: Mapping[str, Any], translations: Translations) -> Mapping[str, Any]:
    made = dict(constraints)
    if isinstance(made.get("messages"), Mapping):
        made["messages"] = {code: authored(text, translations) for code, text in made["messages"].items()}
    if "allOf" in made:
        made["allOf"] = [_constraints(part, translations) for part in made["allOf"]]
    return made


def _choices(choices: Sequence[Choice], translations: Translations) -> list[Choice]:
    return [replace(one, label=authored(one.label, translations)) for one in choices]
