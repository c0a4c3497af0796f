"""Forms: of packages, classes, objects and actions, filled in page by page (`vetro.server.forms`)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Header, Query, Schema

from vetro.forms.model import flaw_json
from vetro.forms.sessions import ReviewWords
from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.sessions import revision_of
from vetro.server.api.v2.shapes import Given, Page, Short
from vetro.server.environments import lookup
from vetro.server.forms import form_session
from vetro.server.forms.views import FormView
from vetro.server.language import translated, translated_data

routes = Routes("forms")
_PATHS = "A JSON pointer into the answers of the page, as `/host/name`."


class Begin(Given):
    """What the form is for: one of package, class, object_id, action; with method a static action of the class."""

    environment_id: str | None = Field(None, max_length=64, description="Left out: a new one is made at the end.")
    session_id: str | None = Field(None, max_length=64, description="The draft; by default your newest, or a new one.")
    package: str | None = Field(None, max_length=64, description="Id of a package of the catalog.")
    class_name: Short | None = Field(None, alias="class", examples=["com.example.Shop"])
    version: Short | None = Field(None, description="Version spec of the class.")
    object_id: Short | None = Field(None, description="An object of the draft that is to be changed.")
    action: str | None = Field(None, max_length=1024, description="Id of an action of the environment.")
    method: Short | None = Field(None, description="Name of a static action of the class.")
    source: str = Field("auto", max_length=16, description="auto, definition, class.")
    into: str | None = Field(None, max_length=64, description="Id of the form that the object is made for.")
    template: str | None = Field(None, max_length=64, description="Id of a template that the object is a part of.")


class Answers(Given):
    """Answers of one page."""

    answers: dict[str, Any] = Field(description="By field. What is shown and missing counts as emptied.")
    page: int | None = Field(None, ge=0, le=10_000, description="Default: the page that is due.")
    partial: bool = Field(False, description="What is missing stays as it is.")


class Typed(Answers):
    """Answers of one page that are not sent yet, and values to fill in."""

    preset: str = Field("", max_length=64, description="Name of one of the form's `presets`, which is put in then.")


class ToCheck(Given):
    """Answers of one page that are only looked at."""

    answers: dict[str, Any]
    page: int | None = Field(None, ge=0, le=10_000)
    path: Short | None = Field(None, description="Only what is wrong there and below. " + _PATHS)


class Wanted(Given):
    """The field that a password is wanted for."""

    path: Short = Field(description=_PATHS)
    page: int | None = Field(None, ge=0, le=10_000, description="Default: the page that is due.")
    builder: Short = Field("", description="The field is one of the form of this model builder.")


class Password(Schema):
    """A password that nobody keeps yet."""

    password: str


class Back(Given):
    """Where to go back to."""

    page: int = Field(ge=0, le=10_000)


class Switch(Given):
    """The other form of the same thing."""

    source: str = Field(max_length=16, description="One of `sources`.")


class StartFrom(Given):
    """A model builder, with its arguments."""

    builder: Short = Field(description="The value of one of `builders`.")
    answers: dict[str, Any] = Field({})


class ProblemShown(Schema):
    """Something that is wrong."""

    path: str = Field(description=_PATHS + " Empty: the page as a whole.")
    message: str
    code: str
    object_id: str | None = None


class ChoiceShown(Schema):
    """Something to choose."""

    value: Any = None
    label: str
    group: str | None = None
    disabled: bool = False
    note: str = Field("", description="What is said beside the label: the size of a flavor.")


class FormShown(Schema):
    """A form that is being filled in."""

    id: str
    purpose: str = Field(description="add, edit, action, static; try: only tried out.")
    title: str
    source: str = Field(description="definition, class, method.")
    sources: list[str] = Field(description="What it can be switched to.")
    reason: str = Field(description="Why the definition is not among them; empty where it is, or there is none.")
    page: int = Field(description="The page that is shown; of the others there are only names and titles.")
    pages_done: list[int] = Field(description="Pages that were answered already.")
    outcome: str = Field(description="shown, next, invalid, ready: then it can be finished.")
    problems: list[ProblemShown]
    form: dict[str, Any] = Field(description="The form; docs/forms/api.md says what is in it.")
    builders: list[ChoiceShown] = Field(description="Model builders to start from.")
    package: dict[str, str] | None = None
    environment_id: str | None = None
    session_id: str | None = None
    object_id: str | None = None
    template_id: str | None = None
    revision: int
    kept: datetime | None = Field(description="When it was kept last.")


class FormRow(Schema):
    """A form that was begun."""

    id: str
    purpose: str
    title: str
    environment_id: str | None = None
    session_id: str | None = None
    created: datetime
    updated: datetime


class Problems(Schema):
    """What is wrong with answers."""

    problems: list[ProblemShown]


class Row(Schema):
    """An answer, as text."""

    label: str
    text: str
    path: str


class ReviewPageShown(Schema):
    """The answers of a page."""

    title: str
    rows: list[Row]
    own: list[str] = Field(description="Paths of answers that are other than what the form suggests.")
    before: dict[str, str] | None = Field(None, description="Of an edit: what was there, by path of what changes.")


class Review(Schema):
    """All answers."""

    pages: list[ReviewPageShown]


class BuilderForm(Schema):
    """The form of a model builder's own arguments."""

    form: dict[str, Any]


class FinishedShown(Schema):
    """What became of a form."""

    purpose: str
    environment_id: str | None = None
    session_id: str | None = None
    object_id: str | None = None
    task_id: str | None = Field(None, description="Of an action: what runs it.")
    stay: bool = Field(False, description="The person wants to go on adding applications.")
    template_id: str | None = Field(None, description="The template that the object is a part of.")


class ChoicesQuery(Schema):
    """What is to be listed."""

    path: Short = Field(description=_PATHS)
    what: str = Field("existing", max_length=16, description="existing (objects), types (for a new one), choices.")
    search: Short = ""
    cursor: str = Field("", max_length=64)
    page: int | None = Field(None, ge=0, le=10_000)
    builder: Short = Field("", description="The field is one of the form of this model builder.")


def form_json(shown: FormView) -> dict[str, Any]:
    """A form as /v2 shows it."""
    names = ("id", "purpose", "title", "source", "reason", "page", "outcome", "revision", "kept", "package",
             "environment_id", "session_id", "object_id", "template_id")  # fmt: skip
    answer: dict[str, Any] = translated_data(
        {
            **{name: getattr(shown, name) for name in names},
            "sources": list(shown.sources),
            "pages_done": list(shown.pages_done),
            "problems": [flaw_json(problem) for problem in shown.problems],
            "form": shown.form.as_json(),
            "builders": [asdict(choice) for choice in shown.builders],
        }
    )
    return answer


@routes.add("POST", "/forms", "beginForm", "use_forms", FormShown, status=201)
def begin(request: HttpRequest, given: Begin) -> Answer:
    """Begins a form. It is kept until it is finished or thrown away, and belongs to whoever began it."""
    caller = who(request)
    if given.session_id is not None:
        environment_id = lookup.session(caller, given.session_id)
        if given.environment_id is None:
            given.environment_id = environment_id
    if given.environment_id is not None:
        lookup.environment(caller, given.environment_id)
    if given.template is not None:
        lookup.template(caller, given.template, change=True)
    return created(form_json(form_session.begin(caller, **given.dict())))


@routes.add("GET", "/forms", "listForms", "use_forms", Page[FormRow])
def list_forms(request: HttpRequest, environment: Annotated[str | None, Query(max_length=64)] = None) -> Any:
    """Your forms that are not finished, newest first; of one environment, or all."""
    items = form_session.mine(who(request), environment)
    return page(items, len(items))


@routes.add("GET", "/forms/{form_id}", "showForm", "use_forms", FormShown)
def show(request: HttpRequest, form_id: str, page: Annotated[int | None, Query(ge=0, le=10_000)] = None) -> Any:
    """The form with the page that is due, or another one."""
    return form_json(form_session.describe(who(request), form_id, page))


@routes.add("DELETE", "/forms/{form_id}", "discardForm", "use_forms", status=204)
def discard(request: HttpRequest, form_id: str) -> Answer:
    """Throws a form away."""
    form_session.discard(who(request), form_id)
    return nothing()


@routes.add("POST", "/forms/{form_id}/evaluate", "evaluateForm", "use_forms", FormShown)
def evaluate(request: HttpRequest, form_id: str, given: Typed) -> Any:
    """Keeps what was typed so far, computes what depends on it, and complains about nothing."""
    return form_json(
        form_session.evaluate(
            who(request), form_id, given.answers, page=given.page, partial=given.partial, preset=given.preset
        )
    )


@routes.add("POST", "/forms/{form_id}/validate", "validateForm", "use_forms", Problems)
def validate(request: HttpRequest, form_id: str, given: ToCheck) -> Any:
    """What is wrong with answers, of a page or one field. Nothing is kept."""
    found = form_session.validate(who(request), form_id, given.answers, page=given.page, path=given.path)
    return {"problems": translated_data([flaw_json(problem) for problem in found])}


@routes.add("POST", "/forms/{form_id}/submit", "submitForm", "use_forms", FormShown)
def submit(request: HttpRequest, form_id: str, given: Answers) -> Any:
    """Takes the answers of a page. `outcome`: invalid, with `problems`; next, with the next page; ready."""
    return form_json(form_session.submit(who(request), form_id, given.answers, page=given.page, partial=given.partial))


@routes.add("POST", "/forms/{form_id}/back", "goBackInForm", "use_forms", FormShown)
def back(request: HttpRequest, form_id: str, given: Back) -> Any:
    """Makes an earlier page due; what was answered stays."""
    return form_json(form_session.back(who(request), form_id, given.page))


@routes.add("GET", "/forms/{form_id}/review", "reviewForm", "use_forms", Review)
def review(request: HttpRequest, form_id: str) -> Any:
    """All answers as text, secrets as dots."""
    names = ("label", "text", "path")
    pages = form_session.review(who(request), form_id, ReviewWords(said=translated))
    shown = [
        {
            "title": translated(one.title),
            "rows": [dict(zip(names, row)) for row in one.rows],
            "own": [path for _, _, path in one.rows if path in one.own],
            "before": one.before,
        }
        for one in pages
    ]
    return {"pages": shown}


@routes.add("POST", "/forms/{form_id}/finish", "finishForm", "use_forms", FinishedShown)
def finish(
    request: HttpRequest,
    form_id: str,
    if_match: Annotated[str | None, Header(alias="If-Match", description="ETag of the session's model.")] = None,
) -> Any:
    """Does what the form was for: puts the object into the draft, or calls the action. Then there is no form any more.

    It needs what doing the same otherwise needs: rule `update_environment`, `create_environment` or `execute_action`.
    """
    return asdict(form_session.finish(who(request), form_id, revision=revision_of(if_match)))


@routes.add("POST", "/forms/{form_id}/switch", "switchForm", "use_forms", FormShown)
def switch(request: HttpRequest, form_id: str, given: Switch) -> Any:
    """Goes on with the other form: the package's definition, or the one made from the class."""
    return form_json(form_session.switch(who(request), form_id, given.source))


@routes.add("GET", "/forms/{form_id}/builders/{builder}", "showBuilder", "use_forms", BuilderForm)
def show_builder(request: HttpRequest, form_id: str, builder: str) -> Any:
    """What a model builder asks for itself; without fields it can be started from at once."""
    return {"form": translated_data(form_session.builder_form(who(request), form_id, builder).as_json())}


@routes.add("POST", "/forms/{form_id}/start-from", "startForm", "use_forms", FormShown)
def start_from(request: HttpRequest, form_id: str, given: StartFrom) -> Any:
    """Runs a model builder and loads what it makes into the form."""
    return form_json(form_session.start_from(who(request), form_id, given.builder, given.answers))


@routes.add("GET", "/forms/{form_id}/choices", "listChoices", "use_forms", Page[ChoiceShown])
def choices(request: HttpRequest, form_id: str, asked: Annotated[ChoicesQuery, Query()]) -> Any:
    """What can be chosen for a field, by search."""
    found = form_session.choices(who(request), form_id, asked.path, **asked.dict(exclude={"path"}))
    return page(translated_data([asdict(item) for item in found.items]), None, found.next)


@routes.add("POST", "/forms/{form_id}/password", "makePassword", "use_forms", Password)
def password(request: HttpRequest, form_id: str, given: Wanted) -> Any:
    """A new password by the rules of a secret field. It counts once it is sent as an answer."""
    text = form_session.password(who(request), form_id, given.path, page=given.page, builder=given.builder)
    return {"password": text}
