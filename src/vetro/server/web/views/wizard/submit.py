"""The end of a form: what was answered is read once more, then the object goes into the draft, or the action runs."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.forms.sessions import FormFailed
from vetro.server.caller import Caller
from vetro.server.environments import deploy as deploying
from vetro.server.errors import Conflict, Invalid, ServiceError
from vetro.server.forms import form_session
from vetro.server.forms.views import Shown
from vetro.server.web.page import go, page, render
from vetro.server.web.views.catalog import recent
from vetro.server.web.views.wizard import begin, ended_forms
from vetro.server.web.views.wizard.names import element_id
from vetro.server.web.views.wizard.words import around, review_words, step_title


@page(rule="use_forms")
@ended_forms.of_form
def review(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """All answers, with the way back to each of them."""
    shown = form_session.describe(caller, form)
    if shown.outcome != "ready":
        return go(request, f"/app/forms/{form}/{shown.page + 1}")
    return _review(request, caller, shown)


@page("POST", rule="use_forms")
@ended_forms.of_form
def finish(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """Does what the form was for."""
    shown = form_session.describe(caller, form)
    if shown.outcome != "ready":
        return go(request, f"/app/forms/{form}/{shown.page + 1}")
    return end(request, caller, shown, deploy=request.POST.get("then") == "deploy")


def end(request: HttpRequest, caller: Caller, shown: Shown, *, deploy: bool = False) -> HttpResponse:
    """Finishes a form that is ready, and leads to what came of it."""
    told = begin.about(request, shown.id)
    try:
        done = form_session.finish(caller, shown.id)
    except (Conflict, Invalid) as error:
        if shown.purpose in ("action", "static"):
            raise
        return _review(request, caller, shown, error)
    begin.remember(request, shown.id, None)
    ended_forms.remember(
        request,
        shown.id,
        ended_forms.SENT,
        environment_id=done.environment_id,
        template_id=done.template_id,
        task_id=done.task_id,
    )
    if done.task_id is not None:
        return go(request, f"/app/results/{done.task_id}/")
    if shown.package is not None:
        recent.note(request, [shown.package["fqn"]])
    if done.template_id is not None:
        if told.into is not None:
            return _back(request, caller, told.into, done.object_id or "")
        what = _("%s is in the template.") if shown.purpose == "add" else _("%s is changed in the template.")
        messages.success(request, what % shown.title)
        return go(request, f"/app/templates/{done.template_id}/")
    assert done.environment_id is not None and done.session_id is not None, "objects are put into drafts"
    recent.note_environment(request, done.environment_id)
    if told.into is not None:
        return _back(request, caller, told.into, done.object_id or "")
    if shown.quick or deploy:
        task = deploying.deploy(caller, done.environment_id, done.session_id)
        return go(request, f"/app/environments/{done.environment_id}/tasks/{task.id}/")
    what = _("%s is in your draft.") if shown.purpose == "add" else _("%s is changed in your draft.")
    messages.success(request, f"{what % shown.title} {_('Nothing happens until you deploy.')}")
    return go(request, "/app/catalog/" if done.stay else f"/app/environments/{done.environment_id}/")


def _back(request: HttpRequest, caller: Caller, into: tuple[str, int, str], object_id: str) -> HttpResponse:
    """To the form from one of whose fields this one was begun, which has its answer now."""
    form, number, name = into
    try:
        form_session.evaluate(caller, form, {name: object_id}, page=number, partial=True)
    except (ServiceError, FormFailed):  # it is gone, or changed: the object is in the draft all the same
        messages.warning(request, _("The form that this was for is not there any more."))
        return go(request, "/app/forms/")
    return go(request, begin.back_into(into))


def _review(request: HttpRequest, caller: Caller, shown: Shown, problem: ServiceError | None = None) -> HttpResponse:
    pages = [
        {
            "title": step_title(shown.form.pages[number], number, shown.source),
            "number": number + 1,
            "rows": [(label, text, element_id("/" + path[1:].split("/", 1)[0])) for label, text, path in found.rows],
        }
        for number, found in enumerate(form_session.review(caller, shown.id, review_words()))
    ]
    told = begin.about(request, shown.id)
    context = {
        "shown": shown,
        "told": told,
        "pages": [found for found in pages if found["rows"]],
        "problem": problem,
        **around(shown),
        "out": begin.way_out(shown, told),
    }
    return render(request, "wizard/review.html", context, 200 if problem is None else problem.status)
