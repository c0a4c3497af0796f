"""Templates: sets of components from which environments are made."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.model.header import class_name, class_of, header_of, id_of, label_of
from vetro.model.tree import objects
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments import lookup, templates
from vetro.server.errors import ServiceError
from vetro.server.web.logos import logos_of
from vetro.server.web.model_texts import time_of
from vetro.server.web.page import go, page, render
from vetro.server.web.views.catalog import into, recent
from vetro.server.web.views.environments.listing import AT_ONCE, page_number, pages_of


@page(rule="list_env_templates")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Templates of the project, and public ones of others."""
    search = request.GET.get("q", "").strip()[:255]
    every = templates.list_all(caller)
    wanted = search.lower()
    rows = [row for row in every if wanted in row["name"].lower() or wanted in row["description_text"].lower()]
    number = page_number(request.GET.get("page"), len(rows))
    shown = rows[(number - 1) * AT_ONCE : number * AT_ONCE]
    for row in shown:
        row["own"], row["at"] = row["tenant_id"] == caller.project_id, time_of(row["updated"])
    context = {"rows": shown, "total": len(every), "q": search, "page": number, "pages": pages_of(len(rows))}
    context["may_create"] = allows(caller, "create_env_template")
    part = request.headers.get("HX-Target") == "list"
    return render(request, "templates/rows.html" if part else "templates/listing.html", context)


@page(rule="show_env_template")
def show(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """One template with its components."""
    return render(request, "templates/one.html", _context(caller, template))


@page("GET", "POST", rule="create_env_template")
def new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Makes a template, empty."""
    given = {"name": request.POST.get("name", ""), "description_text": request.POST.get("description", "")}
    if request.method == "POST":
        try:
            made = templates.create(caller, given)
        except ServiceError as error:
            return render(request, "templates/new.html", {"given": given, "problem": error}, error.status)
        return go(request, f"/app/templates/{made['id']}/")
    return render(request, "templates/new.html", {"given": given})


@page("GET", "POST", rule="create_environment")
def create_environment(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """A new environment whose draft has the template's components."""
    context = _context(caller, template)
    context["given"] = {"name": request.POST.get("name", ""), "description_text": request.POST.get("description", "")}
    if request.method == "POST":
        try:
            made = templates.create_environment(caller, template, context["given"])
        except ServiceError as error:
            return render(request, "templates/create.html", {**context, "problem": error}, error.status)
        messages.success(request, _("The environment has the applications of the template. Nothing is deployed yet."))
        if context["unset"]:
            messages.warning(
                request, _("The template has no secrets. Enter them before you deploy: %s.") % context["unset"]
            )
        return go(request, f"/app/environments/{made['environment_id']}/")
    return render(request, "templates/create.html", context)


@page("GET", "POST", rule="update_env_template")
def edit(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """Changes name, description, and who sees it."""
    lookup.template(caller, template, change=True)
    context = _context(caller, template)
    row = context["template"]
    context["given"] = {key: row[key] for key in ("name", "description_text", "is_public")}
    if request.method == "POST":
        context["given"] = {
            "name": request.POST.get("name", ""),
            "description_text": request.POST.get("description", ""),
            "is_public": request.POST.get("public") == "on",
        }
        try:
            templates.update(caller, template, context["given"])
        except ServiceError as error:
            return render(request, "templates/edit.html", {**context, "problem": error}, error.status)
        return go(request, f"/app/templates/{template}/")
    return render(request, "templates/edit.html", context)


@page("GET", "POST", rule="clone_env_template")
def clone(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """A copy in the caller's project."""
    context = _context(caller, template)
    context["given"] = {"name": _("%s copy") % context["template"]["name"]}
    if request.method == "POST":
        context["given"] = {"name": request.POST.get("name", "")}
        try:
            made = templates.clone(caller, template, context["given"])
        except ServiceError as error:
            return render(request, "templates/clone.html", {**context, "problem": error}, error.status)
        return go(request, f"/app/templates/{made['id']}/")
    return render(request, "templates/clone.html", context)


@page("POST", rule="delete_env_template")
def delete(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """Removes a template. Environments made from it stay as they are."""
    lookup.template(caller, template, change=True)
    name = templates.show(caller, template)["name"]
    templates.delete(caller, template)
    messages.success(request, _("The template %s was deleted.") % name)
    return go(request, "/app/templates/")


@page(rule="update_service_env_template")
def choose(request: HttpRequest, caller: Caller, template: str) -> HttpResponse:
    """Leads to the catalog, which then is about adding to this template."""
    recent.note_template(request, lookup.template(caller, template, change=True))
    return go(request, f"/app/catalog/?{into.query_of(template, template=True)}")


@page("POST", rule="update_service_env_template")
def remove(request: HttpRequest, caller: Caller, template: str, component: str) -> HttpResponse:
    """Takes a component out of a template."""
    lookup.template(caller, template, change=True)
    templates.remove_services(caller, template, [component])
    return go(request, f"/app/templates/{template}/")


def _context(caller: Caller, template: str) -> dict[str, Any]:
    """A template as pages show it: names and classes of its components, no values."""
    row = templates.show(caller, lookup.template(caller, template), marked=True)
    services = [item for item in row.pop("services") if header_of(item) is not None]
    logos = logos_of(caller, {class_of(item) for item in services})
    row["at"] = time_of(row["updated"])
    mine = row["tenant_id"] == caller.project_id or caller.is_admin
    names = {id_of(item): label_of(item) for item in objects(services)}
    unset = [f"{names.get(s['object']) or class_name(s['type'])} · {s['property']}" for s in row.pop("unset_secrets")]
    return {
        "template": row,
        "components": [
            {
                "id": id_of(item),
                "name": label_of(item),
                "type": class_of(item),
                "logo": logos.get(class_of(item), ""),
                "owned": sum(1 for _ in objects(item)) - 1,
            }
            for item in services
        ],
        "unset": ", ".join(unset),
        "own": row["tenant_id"] == caller.project_id,
        "may_fill": mine and allows(caller, "update_service_env_template"),
        "may_change": mine and allows(caller, "update_env_template"),
        "may_delete": mine and allows(caller, "delete_env_template"),
        "may_clone": allows(caller, "clone_env_template"),
        "may_create": allows(caller, "create_environment"),
    }
