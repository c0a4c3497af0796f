"""A form to be looked at without a server: one HTML file with everything in it and no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from vetro.cli.forms.input import current, explanation
from vetro.cli.forms.preview import held_text, kind_of, label_of, offered
from vetro.forms.entry import choice_key, html_attributes, shown
from vetro.forms.model import Field, Form, Page, Section

_STYLE = """\
:root { color-scheme: light dark; --line: #8886; --weak: #777; --wrong: #c22; --accent: #2668c4; }
body { font: 1rem/1.45 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
form { border: 1px solid var(--line); border-radius: .5rem; padding: .2rem 1.2rem 1rem; }
fieldset { border: 0; border-left: 3px solid var(--line); margin: .8rem 0; padding: 0 0 0 1rem; }
legend { font-weight: 600; padding: 0; }
.field { margin: 1rem 0; } .field > label { display: block; font-weight: 600; }
.hidden { opacity: .55; } .name, .note { color: var(--weak); font-size: .85rem; font-weight: 400; }
.wrong { color: var(--wrong); } .need { color: var(--wrong); }
input:not([type=checkbox]), select, textarea { font: inherit; width: 100%; box-sizing: border-box;
  padding: .35rem .5rem;
  border: 1px solid var(--line); border-radius: .3rem; background: transparent; color: inherit; }
p { margin: .25rem 0; }
"""


def html_page(form: Form) -> str:
    """The file."""
    return "\n".join(_document(form)) + "\n"


def _document(form: Form) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>{escape(form.title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{escape(form.title)}</h1>"
    for text in (form.description, form.help):
        if text:
            yield f"<p>{escape(text)}</p>"
    for number, page in enumerate(form.pages):
        yield from _page(page, number, len(form.pages))
    yield "</body></html>"


def _page(page: Page, number: int, count: int) -> Iterator[str]:
    if count > 1:
        yield f'<h2>{escape(page.title)} <span class="name">{escape(page.name)}</span></h2>'
    yield f'<form id="page-{number}">'
    for text in page.intro:
        yield f'<p class="note">{escape(text)}</p>'
    for problem in page.problems:
        yield f'<p class="wrong">{escape(problem.message)}</p>'
    for section in page.sections:
        if section.fields:
            yield from _section(section, f"p{number}")
    yield "</form>"


def _section(section: Section, around: str) -> Iterator[str]:
    framed = bool(section.title)
    if framed:
        yield f"<fieldset><legend>{escape(section.title)}</legend>"
    if section.description:
        yield f'<p class="note">{escape(section.description)}</p>'
    for field in section.fields:
        yield from _field(field, f"{around}-{field.name}")
    if framed:
        yield "</fieldset>"


def _field(field: Field, around: str) -> Iterator[str]:
    id = escape(around, quote=True)
    need = ' <span class="need">*</span>' if field.required and field.enabled else ""
    notes = [field.name, kind_of(field), *(["hidden"] if not field.visible else [])]
    yield f'<div class="field{"" if field.visible else " hidden"}">'
    label = f'{escape(field.label)}{need} <span class="name">{escape(", ".join(notes))}</span>'
    if field.kind == "boolean":
        ticked = " checked" if current(field) is True else ""
        yield f'<label><input type="checkbox" id="{id}"{ticked}{_off(field)}> {label}</label>'
    else:
        yield f'<label for="{id}">{label}</label>'
        yield _control(field, id)
    for line in explanation(field)[:-1]:
        yield f'<p class="note">{escape(line)}</p>'
    for problem in field.problems:
        yield f'<p class="wrong">{escape(problem.message)}</p>'
    if field.sections:
        yield "<fieldset>"
        for section in field.sections:
            yield from _section(section, around)
        yield "</fieldset>"
    yield "</div>"


def _control(field: Field, id: str) -> str:
    if field.messages.get("instead"):
        return f'<p class="wrong" id="{id}">{escape(field.messages["instead"])}</p>'
    given = html_attributes(field)
    more = "".join(f' {escape(name)}="{escape(value, quote=True)}"' for name, value in given.items()) + _off(field)
    if field.kind in ("choice", "reference") or offered(field):
        return f'<select id="{id}"{_off(field)}>{"".join(_options(field))}</select>'
    if field.kind in ("text", "list", "tuple", "map", "object", "json"):
        return f'<textarea id="{id}" rows="3"{more}>{escape(held_text(field))}</textarea>'
    kind = "password" if field.secret else "number" if field.kind in ("integer", "number") else "text"
    value = "" if field.secret else escape(shown(field, current(field)), quote=True)
    return f'<input type="{kind}" id="{id}" value="{value}"{more}>'


def _options(field: Field) -> Iterator[str]:
    held, heading = current(field), None
    if field.picker is not None or (held is None and not any(c.value in (None, "") for c in field.choices)):
        yield "<option></option>"
    for choice in offered(field):
        if choice.group != heading:
            yield "</optgroup>" if heading else ""
            yield f'<optgroup label="{escape(choice.group, quote=True)}">' if choice.group else ""
            heading = choice.group
        marks = " selected" if choice.value == held else ""
        marks += " disabled" if choice.disabled else ""
        value = escape(choice_key(choice.value), quote=True)
        yield f'<option value="{value}"{marks}>{escape(label_of(choice))}</option>'
    if heading:
        yield "</optgroup>"


def _off(field: Field) -> str:
    return "" if field.enabled and not field.read_only else " disabled"
