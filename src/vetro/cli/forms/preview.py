"""A form to be looked at without a server: all its pages as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vetro.cli.forms.answers import Given, of_page, page_answers
from vetro.cli.forms.input import current, explanation
from vetro.diagnostics import Text
from vetro.forms.entry import choice_key, shown
from vetro.forms.model import Choice, Field, Form, Page, Section, flaw, ranked
from vetro.forms.sessions import FormFailed, FormSession, Work

#: Choices that are shown of a field.
MOST = 12
#: Texts that most rules of texts take.
PLAUSIBLE = ("example", "Example-1!", "10.0.0.1", "10", "example.com", "user@example.com", "http://example.com", "/e")


def whole(form_session: FormSession, work: Work, given: Given | None = None) -> Form:
    """The form with all pages and the given answers; later pages read what the earlier ones hold, or could.

    A page that cannot be shown has the problem instead of fields. Raises `UnknownAnswer`.
    """
    form = form_session.form(work)
    pages: list[Page] = []
    failed: FormFailed | None = None
    for number, page in enumerate(form.pages):
        try:
            if failed is not None:
                raise failed
            shown = form_session.form(work, number)
            answers = {
                **page_answers(form_session, shown.pages[number]),
                **of_page(shown, shown.pages[number], given or {}),
            }
            evaluated = form_session.evaluate(work, answers, number) if given else work
            pages.append(form_session.form(evaluated, number).pages[number])
        except FormFailed as error:
            author = error.author or {}
            text = str(author.get("message") or error.message)
            pages.append(
                replace(page, sections=(), problems=(flaw("", Text("cannot be shown: {text}", text=text), "failed"),))
            )
            continue
        if number + 1 < len(form.pages):
            try:
                work = form_session.submit(
                    work, _acceptable(form_session, work, answers, number, pages[-1]), number, partial=True
                ).work
            except FormFailed as error:  # the next page is made then
                failed = error
    return replace(form, pages=tuple(pages))


def _acceptable(form_session: FormSession, work: Work, answers: Given, number: int, page: Page) -> Given:
    """The answers with something in the place of those that the page does not take: later pages read them.

    Nobody sees it, unless a later page shows it.
    """
    fields = {field.name: field for field in page.fields()}
    for text in PLAUSIBLE:
        wrong = {problem.place[1:] for problem in form_session.validate(work, answers, number)} & fields.keys()
        if not wrong:
            break
        for name in wrong:
            field = fields[name]
            usable = [c.value for c in field.choices if not c.disabled and c.value not in (None, "")]
            answers = {**answers, name: usable[0] if usable else text}
            for other in fields.values():
                if other.confirms == name:
                    answers[other.name] = answers[name]
    return answers


def text_lines(form: Form) -> Iterator[str]:
    """The form as text, line by line."""
    yield form.title
    yield from (line for line in (form.description, form.help) if line)
    for page in form.pages:
        yield ""
        title = page.title if page.title == form.title else f"{page.title}: {page.name}" if page.name else page.title
        yield f"== {title} =="
        yield from page.intro
        yield from (f"! {problem.message}" for problem in page.problems)
        for section in page.sections:
            if not section.fields:
                continue
            if section.title:
                yield f"-- {section.title} --"
            if section.description:
                yield section.description
            yield from _fields(section, "")


def _fields(section: Section, pad: str) -> Iterator[str]:
    for field in section.fields:
        yield from _field(field, pad)


def _field(field: Field, pad: str) -> Iterator[str]:
    notes = [kind_of(field)]
    for name, told in (("visible", "hidden"), ("enabled", "disabled")):
        if not getattr(field, name):
            notes.append(told)
    notes += [told for name, told in (("read_only", "read only"),) if getattr(field, name)]
    star = " *" if field.required and field.enabled else ""
    held = held_text(field)
    yield f"{pad}{field.label}{star} ({field.name}: {', '.join(notes)}){f' = {held}' if held else ''}"
    for line in explanation(field)[:-1]:
        yield f"{pad}    {line}"
    if field.messages.get("instead"):
        yield f"{pad}    {field.messages['instead']}"
    for choice in offered(field)[:MOST]:
        yield f"{pad}    - {label_of(choice)}"
    if len(offered(field)) > MOST:
        yield f"{pad}    … {len(offered(field)) - MOST} more"
    yield from (f"{pad}    ! {problem.message}" for problem in field.problems)
    for section in field.sections:
        yield from _fields(section, pad + "    ")


def kind_of(field: Field) -> str:
    """What kind of value it holds, in a word or two."""
    if field.picker is not None:
        return f"object of {field.picker.type}"
    kind = "secret" if field.secret else field.kind
    if field.kind in ("list", "tuple", "map") and field.items is not None:
        return f"{kind} of {kind_of(field.items)}"
    return kind


def held_text(field: Field) -> str:
    """What the control holds at first, as text."""
    value = current(field)
    if field.secret:
        return "••••••" if field.answered else ""
    if value is None or value == "":
        return ""
    for choice in field.choices:
        if choice.value == value and type(choice.value) is type(value):
            return label_of(choice)
    return shown(field, value)


def offered(field: Field) -> list[Choice]:
    """What can be chosen."""
    picker = field.picker
    return ranked(field.choices) if picker is None else [*picker.existing, *picker.types]


def label_of(choice: Choice) -> str:
    """What a choice is called."""
    return choice.noted or choice_key(choice.value) or "(nothing)"
