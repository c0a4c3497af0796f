"""Where forms begin: adding an application, quick deployment, editing an object, actions; and those still in work.

Reading such an address stores nothing: it leads to a form that its first answers store.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.forms.sessions import FormFailed
from vetro.server.caller import Caller
from vetro.server.catalog.service import get_package
from vetro.server.environments import lookup
from vetro.server.environments.models import Environment
from vetro.server.forms import form_session
from vetro.server.forms.views import FormView
from vetro.server.language import translated
from vetro.server.web.page import error_page, go, is_htmx, missing, page, render
from vetro.server.web.views.catalog.application import chosen, versions_of
from vetro.server.web.views.wizard import ended_forms
from vetro.server.web.views.wizard.names import element_id
from vetro.server.web.views.wizard.origins import About, about, begun_at, remember


@page(rule="update_environment")
def add(request: HttpRequest, caller: Caller, environment: str, package: str) -> HttpResponse:
    """A new object of a package in an environment."""
    lookup.environment(caller, environment)
    return _begun(request, caller, environment_id=environment, package=package)


@page(rule="update_service_env_template")
def add_to_template(request: HttpRequest, caller: Caller, template: str, package: str) -> HttpResponse:
    """A new object of a package in a template."""
    return _begun(request, caller, template=lookup.template(caller, template, change=True), package=package)


@page(rule="update_service_env_template")
def edit_in_template(request: HttpRequest, caller: Caller, template: str, component: str) -> HttpResponse:
    """An object of a template, with its values."""
    return _begun(request, caller, template=lookup.template(caller, template, change=True), object_id=component)


@page(rule="create_environment")
def quick(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """A new object in an environment that is made for it, and deployed at once."""
    name = request.GET.get("name", "").strip()[:255]
    return _begun(request, caller, package=package, environment_name=name)


@page("GET", "POST", rule="use_forms")
def try_out(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """Posted, the form of an application to be filled in and planned, of which nothing is made; else the button for it:
    reading an address stores nothing.
    """
    if request.method == "POST":
        return _begun(request, caller, package=package, tried=True)
    context = {"package": get_package(caller, package), "address": request.get_full_path()}
    return render(request, "wizard/try.html", context)


@page("POST", rule="create_environment")
@ended_forms.of_form
def take(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """Makes the form that was tried out one that deploys, and shows its answers once more."""
    shown = form_session.take(caller, form)
    remember(request, form, About(f"/app/quick/{shown.package['id']}" if shown.package is not None else ""))
    return go(request, f"/app/forms/{form}/review")


@page(rule="update_environment")
def edit(request: HttpRequest, caller: Caller, environment: str, component: str) -> HttpResponse:
    """An object of the draft, with its values."""
    lookup.environment(caller, environment)
    return _begun(request, caller, environment_id=environment, object_id=component)


@page(rule="execute_action")
def action(request: HttpRequest, caller: Caller, environment: str, action: str) -> HttpResponse:
    """The arguments of an action."""
    lookup.environment(caller, environment)
    return _begun(request, caller, environment_id=environment, action=action)


@page(rule="execute_action")
def static_action(request: HttpRequest, caller: Caller, fqn: str, class_name: str, method: str) -> HttpResponse:
    """The arguments of a static action of a class of a package, in the version that the catalog shows."""
    row = chosen(versions_of(caller, fqn), request.GET.get("version"))
    if class_name not in row.class_names:
        raise missing(_("class"))
    written = f"{class_name}/{row.version}@{row.fqn}"
    return _begun(request, caller, class_name=written, method=method)


@page(rule="use_forms")
def mine(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The person's forms that are not finished."""
    rows = form_session.mine(caller, blank=False)
    names = dict(Environment.objects.filter(id__in={row["environment_id"] for row in rows}).values_list("id", "name"))
    listed = [{**row, "environment": names.get(row["environment_id"], "")} for row in rows]
    return render(request, "wizard/mine.html", {"rows": listed})


@page("POST", rule="use_forms")
@ended_forms.of_form
def discard(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """Throws a form away; begins it anew where that is wanted."""
    told = about(request, caller, form)
    target, shown = "/app/forms/", None
    with suppress(FormFailed):
        shown = form_session.describe(caller, form)
    if request.POST.get("then") != "list" and shown is not None:
        target = way_out(shown, told)
    form_session.discard(caller, form)
    if shown is not None:
        where = {"environment_id": shown.environment_id, "template_id": shown.template_id}
        ended_forms.remember(request, form, ended_forms.THROWN_AWAY, **where)
    else:
        ended_forms.remember(request, form, ended_forms.THROWN_AWAY)
    remember(request, form, None)
    if request.POST.get("then") == "again" and told.again:
        return go(request, told.again)
    messages.success(request, _("The form is thrown away."))
    if shown is not None and shown.quick and shown.environment_id is not None:
        messages.info(request, _("The environment that was made for it is still there."))
    return go(request, target)


def way_out(shown: FormView, told: About) -> str:
    """Where somebody goes who leaves a form."""
    if told.into is not None:
        return back_into(told.into)
    if shown.template_id is not None:
        return f"/app/templates/{shown.template_id}/"
    if shown.environment_id is not None:
        tail = f"components/{shown.object_id}/" if shown.purpose != "add" and shown.object_id else ""
        return f"/app/environments/{shown.environment_id}/{tail}"
    return f"/app/catalog/{shown.package['fqn']}/" if shown.package is not None else "/app/catalog/"


def back_into(into: tuple[str, int, str]) -> str:
    """The place in another form from which this one was begun."""
    form, number, name = into
    return f"/app/forms/{form}/{number + 1}#{element_id('/' + name)}"


def nested(request: HttpRequest, caller: Caller, shown: FormView, fqn: str, name: str) -> HttpResponse:
    """A new application for a field of a form that a definition made."""
    row = chosen(versions_of(caller, fqn), None)
    into = (shown.id, shown.page, name)
    # What is made for a quick deployment before it ends needs a place.
    shown = form_session.settle(caller, shown.id)
    where = {
        "environment_id": shown.environment_id, "session_id": shown.session_id, "template": shown.template_id,
    }  # fmt: skip
    return _begun(request, caller, About(into=into), package=row.id, into=shown.id, **where)


def _begun(request: HttpRequest, caller: Caller, told: About | None = None, **what: Any) -> HttpResponse:
    """Begins a form, or goes on with the same one where somebody left it, and leads to it."""
    again = request.get_full_path() if told is None else ""
    if told is None and "package" in what:
        kept = {str(row["id"]) for row in form_session.mine(caller, blank=False)}
        for form in begun_at(request, again):
            if form in kept:
                messages.info(request, _("This form goes on where you left it."))
                return go(request, f"/app/forms/{form}/")
    stored = request.method == "POST"
    source = request.GET.get("source", "auto") if told is None else "auto"
    try:
        shown = form_session.begin(caller, stored=stored, source=source, origin=again, **what)
    except FormFailed as error:
        return failed(request, error, request.path)
    if stored:
        remember(request, shown.id, told or About(again))
    return go(request, f"/app/forms/{shown.id}/")


def failed(request: HttpRequest, error: FormFailed, address: str = "", form: str = "") -> HttpResponse:
    """The page for a form that its package spoiled; ``address``: what begins it, ``form``: what was begun."""
    found = error.details or {}
    if is_htmx(request):
        author = str((found.get("author") or {}).get("message") or "")
        return error_page(request, 400, translated(error.message), author or None)
    others = [(name, f"{address}?{urlencode({'source': name})}") for name in found.get("sources", ()) if address]
    context = {"problem": error, "author": found.get("author"), "others": others, "form": form}
    return render(request, "wizard/failed.html", context, 400)
