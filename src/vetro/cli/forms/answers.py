"""Answers of `vetro form`: from ``--answers`` and ``--set``, into a form session, and back into a file.

A file holds ``{page: {field: value}}`` for a form with a UI definition and ``{property: value}`` for a class, so
that it can be written by hand. Answers that were interrupted are written in the same shape.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.cli.arguments import values_at_paths
from vetro.cli.plaindata import DataError, json_text, load_data, write_private, yaml_text
from vetro.forms.model import Form, Page
from vetro.forms.queries import held
from vetro.forms.sessions import FormSession, Turn, Work
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

Given = dict[str, Any]


class UnknownAnswer(VetroError):
    """An answer is given to something that the form does not ask."""

    kind = "bad-argument"
    code = "CLI151"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def read_answers(path: str | None, pairs: Iterable[str], *, texts: bool) -> Given:
    """The answers of the command line; ``texts``: values of ``--set`` are taken as they are typed.

    Raises `DataError`, `click.BadParameter`.
    """
    given: Given = {}
    if path is not None:
        data = load_data(path)
        if data is not None and not isinstance(data, Mapping):
            raise DataError(f"{path} holds no answers", "write a mapping: 'name: value' lines")
        given.update(data or {})
    return values_at_paths(given, tuple(pairs), (), texts=texts)


def of_page(form: Form, page: Page, given: Given) -> Given:
    """The given answers of one page, without headers of objects. Raises `UnknownAnswer` for fields it does not have."""
    if form.source != "definition":
        found = {str(key): value for key, value in given.items() if key != "?"}
    else:
        part = given.get(page.name) or {}
        if not isinstance(part, Mapping):
            raise UnknownAnswer(f"the answers of page '{page.name}' are no mapping", "write 'page: {field: value}'")
        found = {str(key): value for key, value in part.items()}
    known = [field.name for field in page.fields()]
    for name in found:
        if name not in known:
            meant = suggest(name, known)
            where = f"page '{page.name}'" if form.source == "definition" else f"'{form.title}'"
            listed = f"there are {', '.join(known)}" if known else "it asks for nothing"
            raise UnknownAnswer(f"{where} has no field '{name}'", f"did you mean '{meant}'?" if meant else listed)
    return found


def page_answers(form_session: FormSession, page: Page) -> Given:
    """All answers of a page as its controls show them, complete as `FormSession` wants them."""
    if form_session.source != "definition":
        return {field.name: field.value for field in page.fields() if field.answered}
    found: Given = {}
    for field in page.fields():
        value = held(field)
        if field.kind == "boolean":
            found[field.name] = bool(value)
        elif value is not None and (field.visible or field.answered):
            found[field.name] = value
    return found


def check_pages(form: Form, given: Given) -> None:
    """Raises `UnknownAnswer` for answers to pages that a definition does not have."""
    if form.source != "definition":
        return
    known = [page.name for page in form.pages]
    for name in given:
        if name not in known:
            meant = suggest(str(name), known)
            hint = f"did you mean '{meant}'?" if meant else f"pages are {', '.join(known)}; write PAGE.FIELD=VALUE"
            raise UnknownAnswer(f"the form has no page '{name}'", hint)


def filled(form_session: FormSession, work: Work, given: Given) -> tuple[Turn, Form]:
    """What comes of the given answers alone, everything else as the form suggests; and the form as it is then.

    Raises `UnknownAnswer`, `FormFailed`.
    """
    check_pages(form_session.form(work), given)
    for _ in range(2 * len(form_session.form(work).pages)):
        form = form_session.form(work)
        page = form.pages[form_session.page(work)]
        turn = form_session.submit(work, of_page(form, page, given), partial=True)
        work = turn.work
        if turn.outcome != "next":
            break
    return turn, form_session.form(turn.work)


def kept_answers(form_session: FormSession, work: Work, given: Given) -> Given:
    """What was answered so far, for a file: also what ``given`` has for pages that nobody came to."""
    if "state" not in work:
        value = work.get("value") or {}
        return {**given, **{str(key): part for key, part in value.items() if key != "?"}}
    found = {str(name): dict(part) for name, part in given.items() if isinstance(part, Mapping)}
    for number, step in enumerate(work["state"]["steps"]):
        typed = {**(step["raw"] or {}), **(work["typed"].get(str(number)) or {})}
        if typed:
            found[step["form"]] = {**found.get(step["form"], {}), **typed}
    return found


def write_answers(path: str, answers: Given) -> None:
    """Writes a file that only its owner can read: there may be secrets. JSON where the name says so, else YAML."""
    text = json_text(answers) if path.endswith(".json") else yaml_text(answers)
    write_private(path, f"{text}\n".encode())


def free_name(title: str) -> str:
    """The name of a new file in this folder for answers to a form."""
    words = "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-") or "form"
    number, name = 1, f"{words}.answers.yaml"
    while os.path.exists(name):
        number += 1
        name = f"{words}.answers-{number}.yaml"
    return name
