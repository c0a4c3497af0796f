"""Changing how a package is presented and who sees it; deleting packages with what depends on them named."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from vetro.server.accounts.policy import allows, enforce
from vetro.server.caller import Caller
from vetro.server.catalog import requirements, service
from vetro.server.catalog.compatibility import NumberTooLow
from vetro.server.catalog.models import Category, Package
from vetro.server.errors import Forbidden, Invalid, ServiceError
from vetro.server.impact import service as impacts
from vetro.server.language import translated
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.catalog import facets
from vetro.server.web.views.packages.package import environments_with, shell
from vetro.server.web.views.packages.rows import rights, texts


@page("GET", "POST", rule="modify_package")
def edit(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """Name, description, tags, categories. What the archive contains never changes."""
    row = service.get_package(caller, package)
    if not rights(caller, row)["change"]:
        raise Forbidden(_("This package belongs to another project, or is part of the installation."))
    context: dict[str, Any] = shell(caller, row, "") | {
        "name": row.name,
        "description": row.description,
        "tags": ", ".join(row.tag_names),
        "chosen": row.category_names,
        "categories": Category.objects.order_by("name").values_list("name", flat=True),
    }
    if request.method == "POST":
        values: dict[str, Any] = {
            "name": request.POST.get("name", ""),
            "description": request.POST.get("description", ""),
            "tags": texts(request.POST.get("tags", "").split(",")),
            "categories": texts(request.POST.getlist("category")),
        }
        context |= {**values, "tags": ", ".join(values["tags"]), "chosen": values["categories"]}
        try:
            if len(values["description"]) > 65_536 or "\0" in "".join((values["name"], values["description"])):
                raise Invalid(_("A description has at most 65,536 characters, without null characters."))
            service.change(caller, row, **values)
        except ServiceError as error:
            return render(request, "packages/edit.html", {**context, "problem": error}, error.status)
        facets.forget(caller.project_id)
        messages.success(request, _("The package is changed."))
        return go(request, f"/app/packages/{row.id}/")
    return render(request, "packages/edit.html", context)


@page("POST", rule="modify_package")
def switch(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """Makes it active or inactive, public or not."""
    row = service.get_package(caller, package)
    words = {
        ("enabled", True): _("The package is active: it is offered in the catalog."),
        ("enabled", False): _("The package is inactive: nobody finds it in the catalog; environments keep it."),
        ("is_public", True): _("The package is public: all projects see it."),
        ("is_public", False): _("The package is not public any more."),
    }
    what = (request.POST.get("what", ""), request.POST.get("value") == "1")
    if what not in words:
        raise Invalid(_("There is no such operation."))
    try:
        service.change(caller, row, anyway=request.POST.get("anyway") == "1", **{what[0]: what[1]})
    except NumberTooLow as error:
        context = shell(caller, row, "compatibility") | {"problem": error, "found": error.details["compatibility"]}
        context["may_force"] = allows(caller, "force_version")
        return render(request, "packages/too_low.html", context, error.status)
    facets.forget(caller.project_id)
    messages.success(request, words[what])
    if what == ("is_public", True) and impacts.start_automatically(caller, row.locked()):
        return go(request, f"/app/packages/{row.id}/impact/")
    return go(request, f"/app/packages/{row.id}/")


@page("GET", "POST", rule="delete_package")
def delete(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Says what deleting these packages means, and does it. What others require goes only when that is wanted."""
    given = request.POST if request.method == "POST" else request.GET
    ids = texts(given.getlist("id"), 200)
    rows = [service.get_package(caller, id) for id in ids]
    if not rows:
        raise missing(_("package"))
    if request.method == "POST":
        return _delete(request, caller, rows)
    listed = [_consequences(caller, row) for row in rows]
    context = {
        "rows": listed,
        "blocked": any(item["dependants"] or item["hidden"] for item in listed),
        "refused": [item for item in listed if not item["may"]],
        "may_force": allows(caller, "force_delete_package"),
        "back": f"/app/packages/{rows[0].id}/" if len(rows) == 1 else "/app/packages/",
    }
    return render(request, "packages/delete.html", context)


def _delete(request: HttpRequest, caller: Caller, rows: list[Package]) -> HttpResponse:
    force = request.POST.get("force") == "1"
    if force:
        enforce(caller, "force_delete_package")
    done, failed = 0, []
    # Those that require others go first, or these would be in the way of themselves.
    for row in sorted(rows, key=lambda row: sum(row.fqn in other.required for other in rows)):
        try:
            service.delete(caller, row, force=force)
            done += 1
        except ServiceError as error:
            failed.append(translated(error.message))
    facets.forget(caller.project_id)
    if done:
        messages.success(request, ngettext("%d package is deleted.", "%d packages are deleted.", done) % done)
    for text in failed:
        messages.error(request, text)
    return go(request, f"/app/packages/{rows[0].id}/" if failed and len(rows) == 1 else "/app/packages/")


def _consequences(caller: Caller, row: Package) -> dict[str, Any]:
    """What hangs on a package: other packages, environments."""
    dependants: list[dict[str, str]] = []
    hidden = ""
    try:
        requirements.guard(caller, row)
    except requirements.StillRequired as error:
        dependants = (error.details or {}).get("dependants") or []
        hidden = "" if dependants else translated(error.message)
    return {
        "package": row,
        "dependants": dependants,
        "hidden": hidden,
        "environments": environments_with(caller, row),
        "may": rights(caller, row)["delete"],
    }
