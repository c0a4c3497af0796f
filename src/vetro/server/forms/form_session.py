"""The functions of the form session; what each does stands in `vetro.server.forms`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.db import transaction

from vetro.diagnostics import Diagnostic, Text
from vetro.forms import password_generator
from vetro.forms.dynamic.types.passwords import SUFFIX
from vetro.forms.model import Choice, Field, Form, Page
from vetro.forms.placement import field_at
from vetro.forms.sessions import ClassFormSession, DefinitionFormSession, ReviewPage, ReviewWords
from vetro.forms.sessions import review as reviewed
from vetro.model.tree import copied
from vetro.server.accounts.policy import allows, enforce
from vetro.server.caller import Caller
from vetro.server.environments import plan as planning
from vetro.server.environments import sessions
from vetro.server.errors import Invalid, NotFound
from vetro.server.forms import blank_forms, drafts, fill
from vetro.server.forms import submit as finishing
from vetro.server.forms.blank_forms import Beginning
from vetro.server.forms.drafts import FormChanged
from vetro.server.forms.models import FormDraft
from vetro.server.forms.queries import OpenForm, builder_schema, check_answers, check_page, opened, show
from vetro.server.forms.queries import builder_form as form_of_builder
from vetro.server.forms.views import ChoiceList, FormResult, FormView
from vetro.server.setup import config
from vetro.server.tasks.models import Task

Answers = Mapping[str, Any]
#: How often a page is submitted again when another window was faster.
_ATTEMPTS = 3
#: Passwords that are tried until one meets the author's rules.
_PASSWORDS = 5


def begin(caller: Caller, *, stored: bool = True, **given: Any) -> FormView:
    """A new form. ``given``: what `Beginning` has.

    ``environment_name``: how the environment is to be called that it makes. ``tried``: the form of a new object is only
    tried out: filled in and planned (`plan`), and nothing is made of it, unless it is taken (`take`). What is begun
    ``into`` such a form is tried out, too. Not ``stored``: it is kept with its first answers; until then its id says
    how it begins.
    """
    form = blank_forms.begun(caller, Beginning(**given))
    if stored:
        drafts.add(form.row, form.content)
    return show(OpenForm.of(caller, form, "" if stored else blank_forms.signed(caller, form)))


def origin(caller: Caller, id: str) -> str:
    """Where a form was begun of which nothing is stored yet; empty for others."""
    given = blank_forms.read(caller, id)
    return "" if given is None else given.origin


def describe(caller: Caller, id: str, page: int | None = None) -> FormView:
    """The form as it is."""
    return show(opened(caller, id), page=page)


def evaluate(
    caller: Caller,
    id: str,
    answers: Answers,
    *,
    page: int | None = None,
    partial: bool = False,
    preset: str = "",
    others: Mapping[int, Answers] | None = None,
) -> FormView:
    """Keeps unsent answers, then puts the values of a preset in. What another window did meanwhile wins, without a
    complaint. ``others``: answers of further pages that stand on the same one."""
    for given in (answers, *(others or {}).values()):
        check_answers(given)
    form = opened(caller, id)
    check_page(form, page)
    work = form.form_session.evaluate(form.work, answers, page, partial=partial)
    for number, given in (others or {}).items():
        work = form.form_session.evaluate(work, given, number)
    if preset:
        work = form.form_session.preset(work, preset)
    try:
        form.keep(work)
    except FormChanged:
        form = opened(caller, id)
    return show(form, page=page)


def validate(
    caller: Caller, id: str, answers: Answers, *, page: int | None = None, path: str | None = None
) -> Sequence[Diagnostic]:
    """What is wrong with answers, all of it or at a field and below it."""
    check_answers(answers)
    form = opened(caller, id)
    check_page(form, page)
    found = form.form_session.validate(form.work, answers, page)
    if path:
        found = [problem for problem in found if problem.place == path or problem.place.startswith(path + "/")]
    return found


def submit(caller: Caller, id: str, answers: Answers, *, page: int | None = None, partial: bool = False) -> FormView:
    """Takes the answers of a page."""
    check_answers(answers)
    for attempt in range(_ATTEMPTS):
        form = opened(caller, id)
        check_page(form, page)
        turn = form.form_session.submit(form.work, answers, page, partial=partial)
        try:
            form.keep(turn.work)
        except FormChanged:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        return show(form, turn.outcome)
    raise AssertionError  # the last attempt has raised


def back(caller: Caller, id: str, page: int) -> FormView:
    """Makes an earlier page due."""
    form = opened(caller, id)
    form.keep(form.form_session.back(form.work, page))
    return show(form)


def review(caller: Caller, id: str, words: ReviewWords | None = None) -> Sequence[ReviewPage]:
    """What was answered, and of something that is edited what was there; ``words``: of another language."""
    form = opened(caller, id)
    work = form.work
    return reviewed(form.form_session.pages(work), words or ReviewWords(), form.form_session.earlier(work))


def finish(caller: Caller, id: str, *, revision: int | None = None) -> FormResult:
    """Does what the form was for."""
    form = opened(caller, id)
    _needs_ready(form)
    return finishing.finish(caller, form.row, form.content, form.place, form.form_session, revision)


def switch(caller: Caller, id: str, source: str) -> FormView:
    """Shows another source; what was answered in the one before stays there."""
    form = opened(caller, id)
    before = form.content
    if source == before.source:
        return show(form)
    if source not in before.sources:
        there = ", ".join(before.sources) or "none"
        raise Invalid(
            Text("The form cannot be switched to '{source}'; there is: {there}.", source=source[:80], there=there),
            hint=before.reason or None,
        )
    form_session = fill.form_session_of(form.place, before.subject, source, before.base)
    work = before.works.get(source)
    if work is None:
        made = form.form_session.result(form.work) if form.form_session.ready(form.work) else None
        work = fill.beginning(form_session, before.base, made)
    others = (*(name for name in before.sources if name != source), before.source)
    form.content = replace(before, source=source, sources=others, works={**before.works, source: work})
    form.form_session = form_session
    form.keep(dict(work))
    return show(form)


def take(caller: Caller, id: str) -> FormView:
    """Makes a form that is tried out one that makes a new environment, with the same answers. Raises `Invalid` for
    any other form.
    """
    form = opened(caller, id)
    if form.row.purpose != FormDraft.TRY or form.content.subject.into:
        raise Invalid(Text("This form is not one that is tried out."))
    enforce(caller, "create_environment")
    enforce(caller, "update_environment")
    drafts.make_room(caller, FormDraft.ADD)
    form.row.purpose = FormDraft.ADD
    form.content = replace(form.content, subject=replace(form.content.subject, quick=True))
    form.keep(form.work)
    return show(opened(caller, id))


def settle(caller: Caller, id: str) -> FormView:
    """Makes the environment of a quick deployment now: other objects can be put there before the form ends."""
    form = opened(caller, id)
    if form.row.environment_id is None and form.content.subject.quick:
        enforce(caller, "create_environment")
        with transaction.atomic():
            form.row.environment_id = finishing.new_environment(caller, form.content.subject)
            form.place.session_id = sessions.open_session(caller, form.row.environment_id).id
            finishing.put_beside(caller, form.row.environment_id, form.place.session_id, form.content)
            form.keep(form.work)
        form = opened(caller, id)
    return show(form)


def builder_form(caller: Caller, id: str, builder: str, answers: Answers | None = None) -> Form:
    """The form of a model builder's own arguments."""
    check_answers(answers or {})
    return form_of_builder(opened(caller, id), builder, answers)


def start_from(caller: Caller, id: str, builder: str, answers: Answers | None = None) -> FormView:
    """Loads what a model builder makes into the form."""
    check_answers(answers or {})
    form = opened(caller, id)
    schema = builder_schema(form, builder)
    assert isinstance(form.form_session, ClassFormSession)

    def call(args: Mapping[str, Any]) -> Any:
        return fill.build(form.place, form.content.subject, builder, args)

    turn = form.form_session.start_from(form.work, schema, answers or {}, call)
    if turn.outcome == "invalid":
        return show(form, "invalid", problems=turn.problems)
    form.keep(turn.work)
    return show(form, "shown")


def choices(
    caller: Caller,
    id: str,
    path: str,
    *,
    what: str = "existing",
    search: str = "",
    cursor: str = "",
    page: int | None = None,
    builder: str = "",
) -> ChoiceList:
    """A page of what can be chosen for a field, of the form or of one of its model builders."""
    form = opened(caller, id)
    check_page(form, page)
    due = form.form_session.page(form.work) if page is None else page
    shown = form_of_builder(form, builder).pages[0] if builder else form.form_session.form(form.work, page).pages[due]
    field = field_at(shown, path)
    if field is None:
        raise NotFound(Text("There is no field '{path}' on this page.", path=path[:255]))
    if what not in ("existing", "types", "choices"):
        raise Invalid(Text("'{what}' cannot be listed; 'existing', 'types' and 'choices' can.", what=what[:80]))
    limit = config()["forms.max_implementations"]
    offset = _offset(cursor)
    if field.picker is not None and what != "choices":
        found = form.form_session.pick(field.picker, what, search, offset, form.work)
        if found is not None:
            items, more = found
            return ChoiceList(items, str(offset + len(items)) if more else None)
    held: Sequence[Choice] = field.choices
    if field.picker is not None:
        held = field.picker.types if what == "types" else field.picker.existing or field.choices
    wanted = search.casefold()
    fitting = [item for item in held if wanted in f"{item.label}\0{item.group}\0{item.value}".casefold()]
    end = offset + limit
    return ChoiceList(fitting[offset:end], str(end) if end < len(fitting) else None)


def plan(caller: Caller, id: str, *, again: bool = False) -> Task | None:
    """What deploying would do once the form has done what it is for: a task whose result says it (`planned`).

    Nothing is put anywhere. It is begun once for the same answers and the same draft; ``again``: in any case. None
    where the caller may not plan, and for forms of templates and actions. Raises `Invalid` while the form is not ready,
    and what `environments.plan` raises.
    """
    form = opened(caller, id)
    _needs_ready(form)
    known = None if again else _planned(form)
    if known is not None or not _plannable(form):
        return known
    edit = finishing.edit_of(form.row, form.content, form.place, form.form_session)
    if form.place.environment_id is None:
        root = copied(form.place.root)
        edit(root)
        task = planning.of_new(caller, root)
    else:
        task = planning.plan(caller, form.place.environment_id, form.place.session_id or "", edit)
    form.note({**form.work, "plan": {"task": task.id, "draft": _draft_mark(form)}})
    return task


def planned(caller: Caller, id: str) -> Task | None:
    """The plan that was begun for the form as it is; None where there is none."""
    return _planned(opened(caller, id))


def _planned(form: OpenForm) -> Task | None:
    known = form.work.get("plan") or {}
    if not _plannable(form) or known.get("draft") != _draft_mark(form):
        return None
    return Task.objects.filter(id=known["task"], project_id=form.place.project_id).first()


def _plannable(form: OpenForm) -> bool:
    planned = form.row.purpose in (FormDraft.ADD, FormDraft.EDIT, FormDraft.TRY)
    return planned and not form.content.subject.template_id and allows(form.caller, "plan_environment")


def _draft_mark(form: OpenForm) -> str:
    """Which state of the draft a plan was made for."""
    session = form.place.session
    found = form.place.found
    return f"{found.version if found is not None else ''} {session.id if session is not None else ''} " + (
        session.updated.isoformat() if session is not None else ""
    )


def _needs_ready(form: OpenForm) -> None:
    if not form.form_session.ready(form.work):
        page = form.form_session.page(form.work)
        raise Invalid(
            Text("The form is not complete yet."), hint=Text("submit the page that is due"), details={"page": page}
        )


def password(caller: Caller, id: str, path: str, *, page: int | None = None, builder: str = "") -> str:
    """A new password by the rules of a secret field, of the form or of one of its model builders. It is not kept.

    Raises `NotFound` where there is no such field, `Invalid` where the rules are none that a random text meets.
    """
    form = opened(caller, id)
    check_page(form, page)
    due = form.form_session.page(form.work) if page is None else page
    shown = form_of_builder(form, builder).pages[0] if builder else form.form_session.form(form.work, page).pages[due]
    field = field_at(shown, path)
    if field is None or not password_generator.can_be_made(field):
        raise NotFound(Text("There is no field '{path}' for a password on this page.", path=path[:255]))
    for text in islice(password_generator.candidates(field), _PASSWORDS):
        if not isinstance(form.form_session, DefinitionFormSession):
            return text
        # The author's own rules are expressions, which only the definition can tell.
        name = path.removeprefix("/").replace("~1", "/").replace("~0", "~")
        found = form.form_session.validate(form.work, {name: text, name + SUFFIX: text}, page)
        if not any(problem.place == path for problem in found):
            return text
    raise Invalid(Text("No password could be made by the rules of {label}.", label=field.label or path))


def blank(caller: Caller, id: str, answers: Answers, *, page: int, others: Mapping[int, Answers] | None = None) -> bool:
    """Whether nothing was ever answered in a form, and these answers of a page are those that it shows by itself."""
    form = opened(caller, id)
    if form.row.revision:
        return False
    before = after = form.work
    for number, given in {page: answers, **(others or {})}.items():
        check_answers(given)
        check_page(form, number)
        after = form.form_session.evaluate(after, given, number)
    return all(
        _controls(form.form_session.form(before, number).pages[number])
        == _controls(form.form_session.form(after, number).pages[number])
        for number in (page, *(others or {}))
    )


def _controls(page: Page) -> dict[str, Any]:
    """What each control of a page shows, by its name; of secrets whether there is one."""
    return {item.name: _content(item) for item in page.fields()}


def _content(item: Field) -> Any:
    parts = [_content(one) for section in item.sections for one in section.fields]
    parts += [_content(one) for one in item.leading]
    shown = item.answered if item.secret else item.value if item.answered else item.initial
    # An input that was left empty is no answer.
    return [item.name, None if shown in ("", [], {}) else shown, parts]


def discard(caller: Caller, id: str) -> None:
    """Throws a form away. Raises `NotFound`."""
    if blank_forms.read(caller, id) is None or drafts.stored(caller, blank_forms.row_id(id)) is not None:
        drafts.discard(caller, blank_forms.row_id(id))


def exists(caller: Caller, id: str) -> bool:
    """Whether the person has this form, also where it is only tried out."""
    if blank_forms.read(caller, id) is not None:
        return not drafts.ended(blank_forms.row_id(id))
    return drafts.stored(caller, id) is not None


def mine(caller: Caller, environment_id: str | None = None, *, blank: bool = True) -> list[dict[str, Any]]:
    """The forms that the person has begun; ``blank``: also those in which nothing was answered."""
    return drafts.listed(caller, environment_id, blank=blank)


def _offset(cursor: str) -> int:
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise Invalid(Text("This is no cursor of this list."), hint=Text("leave it out, or give what 'next' said"))
    return int(cursor)
