"""The end of a form: what was answered is read once more, then the object goes into the draft, or the action runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.forms.sessions import FormFailed, ReviewPage
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.errors import Conflict, Invalid, NotFound, ServiceError
from vetro.server.forms import dry_run, form_session
from vetro.server.forms.views import FormView
from vetro.server.procedures import service as procedures
from vetro.server.tasks.models import Task
from vetro.server.web.page import go, is_htmx, page, render
from vetro.server.web.views.catalog import recent
from vetro.server.web.views.catalog.gets import actions_of
from vetro.server.web.views.environments.plan import outside
from vetro.server.web.views.wizard import begin, ended_forms, last_step, origins
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


#: At this status htmx asks no more.
_STOP_POLLING = 286


@page("GET", "POST", rule="use_forms")
@ended_forms.of_form
def plan(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """What deploying would do once the form is sent: POST finds it out, GET says how far that is."""
    try:
        shown = form_session.describe(caller, form)
        try:
            task = form_session.plan(caller, form) if request.method == "POST" else form_session.planned(caller, form)
            about = _planned(task)
        except NotFound:
            raise
        except ServiceError as error:  # the form can be sent all the same
            about = {"problem": error}
    except NotFound:
        if not is_htmx(request):
            raise
        return HttpResponse(status=_STOP_POLLING)  # the form was sent a moment ago
    if not is_htmx(request):
        return go(request, f"/app/forms/{form}/review")
    return render(request, "wizard/plan.html", {"shown": shown, **about, **_gets(caller, shown, about)})


def _gets(caller: Caller, shown: FormView, about: Mapping[str, Any]) -> dict[str, Any]:
    """What one gets, where the plan of something new says it; of what changes only the whole plan tells enough."""
    task = about.get("task")
    if about.get("plan") is None or task is None or not (shown.purpose == "try" or _only_makes(task.result)):
        return {}
    row = Package.objects.filter(id=(shown.package or {}).get("id", "")).first()
    return {"gets": dry_run.plan_totals(about["task"]), "actions": actions_of(caller, row) if row is not None else []}


def _only_makes(plan: Mapping[str, Any]) -> bool:
    """Whether it changes and deletes nothing, and nothing in it needs a second look."""
    resources = [item for stack in plan["stacks"] for item in stack["resources"]]
    made = bool(resources) and all(item["what"] == "created" for item in (*plan["stacks"], *resources))
    return made and not any(plan.get(name) for name in ("no_way_back", "unused", "servers"))


def end(request: HttpRequest, caller: Caller, shown: FormView, *, deploy: bool = False) -> HttpResponse:
    """Finishes a form that is ready, and leads to what came of it."""
    told = origins.about(request, caller, shown.id)
    try:
        done = form_session.finish(caller, shown.id)
    except (Conflict, Invalid) as error:
        if shown.purpose in ("action", "static"):
            raise
        return _review(request, caller, shown, error)
    origins.remember(request, shown.id, None)
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
    if shown.purpose == "try":
        if told.into is None:  # this browser does not know from which field it was begun
            messages.success(request, _("It is made: choose it in the form that it is for."))
            return go(request, "/app/forms/")
        return _back(request, caller, told.into, done.object_id or "")
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
        task = procedures.deploy(caller, done.environment_id, done.session_id)
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


def _review(request: HttpRequest, caller: Caller, shown: FormView, problem: ServiceError | None = None) -> HttpResponse:
    reviewed = form_session.review(caller, shown.id, review_words())
    last = last_step.of(shown)
    pages: list[dict[str, Any]] = []
    for number, found in enumerate(reviewed):
        rows = _rows(found)
        if number == last:  # it stood below the page before it, and was no step of its own
            pages[-1]["rows"] += rows["rows"]
            pages[-1]["rest"] += rows["rest"]
        else:
            pages.append(
                {"title": step_title(shown.form.pages[number], number, shown.source), "number": number + 1, **rows}
            )
    told = origins.about(request, caller, shown.id)
    known = _planned(form_session.planned(caller, shown.id)) if shown.outcome == "ready" else {}
    context = {
        "shown": shown,
        "told": told,
        "pages": [found for found in pages if found["rows"] or found["rest"]],
        "unfolded": not any(found["rows"] for found in pages),
        "edits": any(found.before is not None for found in reviewed),
        "unchanged": all(found.before == {} for found in reviewed),
        "problem": problem,
        "may_plan": shown.template_id is None and allows(caller, "plan_environment"),
        **known,
        **_gets(caller, shown, known),
        "may_take": shown.purpose == "try" and told.into is None and allows(caller, "create_environment"),
        **around(caller, shown),
        "out": begin.way_out(shown, told),
    }
    return render(request, "wizard/review.html", context, 200 if problem is None else problem.status)


def _planned(task: Task | None) -> dict[str, Any]:
    """What a page shows of a plan."""
    if task is None:
        return {}
    final, plan = task.state in Task.FINAL, None
    if task.state == "done" and isinstance(task.result, dict):
        plan = outside(decode_messages(task.result))
    nothing = plan is not None and not (plan["stacks"] or plan["servers"] or plan["scripts"])
    return {"task": task, "final": final, "plan": plan, "nothing": nothing, "error": decode_messages(task.error)}


def _rows(found: ReviewPage) -> dict[str, Any]:
    """``rows`` that count: (label, text, what was there or None); ``rest``: what is as it was, or as suggested."""
    counts = found.own if found.before is None else found.before.keys()
    rows = [(label, text, (found.before or {}).get(path)) for label, text, path in found.rows if path in counts]
    return {"rows": rows, "rest": [(label, text) for label, text, path in found.rows if path not in counts]}
