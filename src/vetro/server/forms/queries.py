"""A form that was begun, with all that is needed to go on with it, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic, Text
from vetro.forms.builders import builder_form as empty_builder_form
from vetro.forms.fill import Filler
from vetro.forms.model import Choice, Form
from vetro.forms.placement import problems_in
from vetro.forms.sessions import ClassFormSession, FormSession, Work
from vetro.model.header import parse_type_text
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.packages.texts import Translations, authored
from vetro.server.caller import Caller
from vetro.server.catalog.package_texts import texts_of_package
from vetro.server.environments import limits
from vetro.server.errors import Invalid, NotFound, TooLarge
from vetro.server.forms import blank_forms, drafts, fill
from vetro.server.forms.blank_forms import BlankForm
from vetro.server.forms.drafts import Content
from vetro.server.forms.models import FormDraft
from vetro.server.forms.target import FormTarget
from vetro.server.forms.views import FormView
from vetro.server.setup import config

#: Characters of the answers of one page, as JSON.
LARGEST = 4 << 20


@dataclass(slots=True)
class OpenForm:
    """A form with everything that is needed to go on with it."""

    caller: Caller
    row: FormDraft
    content: Content
    place: FormTarget
    form_session: FormSession
    #: Its id as long as it has no row (`vetro.server.forms.blank_forms`); empty: it has one.
    unstored: str = ""

    @classmethod
    def of(cls, caller: Caller, form: BlankForm, unstored: str = "") -> OpenForm:
        """One that was begun just now."""
        return cls(caller, form.row, form.content, form.place, form.form_session, unstored)

    @property
    def work(self) -> Work:
        """That of the source that is shown."""
        return self.content.work

    def keep(self, work: Work) -> None:
        """Stores the work of the source that is shown. Raises `FormChanged`."""
        self.content = self.content.with_work(self.content.source, work)
        self.row.session_id = self.place.session_id
        if self.unstored:
            drafts.add(self.row, self.content, answered=True)
            self.unstored = ""
        else:
            drafts.save(self.row, self.content)

    def note(self, work: Work) -> None:
        """Stores what the service found out itself: nobody's answers change, so whoever has the form open goes on."""
        self.content = self.content.with_work(self.content.source, work)
        drafts.note(self.row, self.content)


def opened(caller: Caller, id: str) -> OpenForm:
    """A form of the caller's, also one that has no row yet. Raises `NotFound`."""
    given, own = blank_forms.read(caller, id), blank_forms.row_id(id)
    if given is not None and drafts.stored(caller, own) is None and not drafts.ended(own):
        return OpenForm.of(caller, blank_forms.begun(caller, given, own), id)
    row = drafts.get(caller, own)
    content = Content.from_json(row.content)
    on_draft = row.purpose in (FormDraft.ADD, FormDraft.EDIT)
    template, beside = content.subject.template_id, content.beside
    place = FormTarget(caller, row.environment_id, row.session_id, draft=on_draft, template_id=template, beside=beside)
    form_session = fill.form_session_of(place, content.subject, content.source, content.base)
    return OpenForm(caller, row, content, place, form_session)


def show(
    form: OpenForm, outcome: Any = "shown", *, page: int | None = None, problems: Sequence[Diagnostic] | None = None
) -> FormView:
    """The form with the page that is due, or another. ``problems``: those to show instead of the page's own."""
    check_page(form, page)
    work, content, row = form.work, form.content, form.row
    due = form.form_session.page(work)
    whole = form.form_session.form(work, page)
    at = due if page is None else page
    if outcome == "shown" and page is None and form.form_session.ready(work):
        outcome = "ready"
    return FormView(
        form.unstored or row.id,
        row.purpose,
        content.source,
        whole,
        at,
        outcome,
        problems=problems if problems is not None else problems_in(whole.pages[at]),
        sources=content.sources,
        reason=content.reason,
        pages_done=form.form_session.done(work),
        builders=_builders(form),
        # Of what is edited it is the name that somebody gave it.
        title=row.title if row.purpose == FormDraft.EDIT else authored(row.title, _texts(form)),
        package=content.subject.package,
        environment_id=row.environment_id,
        session_id=form.place.session_id,
        object_id=content.subject.object_id or None,
        template_id=content.subject.template_id or None,
        quick=content.subject.quick,
        revision=row.revision,
        kept=row.updated,
    )


def _texts(form: OpenForm) -> Translations:
    """What the packages of the form's class, or of its definition, say in other languages."""
    subject = form.content.subject
    written = parse_type_text(subject.type) if subject.type else None
    if written is not None:
        return form.place.catalog.texts_of(written.name, written.version, written.package)
    return texts_of_package(subject.package_id)


def _builders(form: OpenForm) -> Sequence[Choice]:
    if not isinstance(form.form_session, ClassFormSession):
        return ()
    return form.form_session.builders(fill.schemas_of(form.place, form.content.subject))


def builder_form(form: OpenForm, builder: str, answers: Mapping[str, Any] | None = None) -> Form:
    """The form of a model builder's own arguments, filled in with ``answers``. Raises `NotFound`."""
    empty = empty_builder_form(builder_schema(form, builder))
    limit = config()["forms.max_implementations"]
    filler = Filler(form.place.describer, form.place.objects, limit=limit, cloud=form.place.cloud_choices)
    return filler.method(empty, answers or {})


def builder_schema(form: OpenForm, builder: str) -> Mapping[str, Any]:
    """The schema of a model builder. Raises `NotFound`."""
    known = [choice.value for choice in _builders(form)]
    if builder not in known:
        listed = ", ".join(map(str, known)) or Text("nothing")
        raise NotFound(
            Text(
                "The form cannot be started from '{builder}'; there is: {listed}.", builder=builder[:80], listed=listed
            )
        )
    return fill.schemas_of(form.place, form.content.subject)[builder]


def check_answers(answers: Mapping[str, Any]) -> None:
    """Raises `Invalid` for answers that are nested too deeply, `TooLarge`."""
    limits.check_depth(answers, Text("the answers"))
    with deep_calls():
        size = len(json.dumps(answers, ensure_ascii=False))
    if size > LARGEST:
        raise TooLarge(Text("The answers have {size:,} characters, {largest:,} at most.", size=size, largest=LARGEST))


def check_page(form: OpenForm, page: int | None) -> None:
    """Raises `Invalid` for a number that no page has."""
    if page is None:
        return
    count = form.form_session.count(form.work)
    if not 0 <= page < count:
        raise Invalid(Text("There is no page {page}; the first is 0, the last {count}.", page=page, count=count - 1))
