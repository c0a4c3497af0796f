"""All accounts, for administrators; making one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts import service as accounts
from vetro.server.caller import Caller
from vetro.server.errors import Invalid, ServiceError
from vetro.server.web.page import go, page, render
from vetro.server.web.views.people.changes import known_roles, paged, project_names


@page(rule="manage_accounts")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """People with their projects and roles."""
    search = request.GET.get("q", "").strip()[:255]
    rows = accounts.list_users(caller)
    found = [
        row for row in rows if search.lower() in f"{row['name']} {row['email']} {' '.join(row['projects'])}".lower()
    ]
    context = {**paged(found, request.GET.get("page")), "q": search, "matching": len(found), "tab": "people"}
    return render(request, "people/listing.html", context)


@page("GET", "POST", rule="manage_accounts")
def new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new account, at once with a role in a project; without password it is for links and tokens."""
    given = {name: request.POST.get(name, "").strip() for name in ("name", "email", "project", "role")}
    context: dict[str, Any] = {
        **given, "open_projects": project_names(caller), "known_roles": known_roles(), "tab": "people",
        "role": given["role"] or "member", "project": given["project"] or request.GET.get("project", ""),
    }  # fmt: skip
    if request.method != "POST":
        return render(request, "people/new.html", context)
    try:
        if "@" not in given["email"] and given["email"]:
            raise Invalid(_("'%s' is no address for mail.") % given["email"])
        with transaction.atomic():
            password = request.POST.get("password") or None
            user = accounts.create_user(caller, given["name"], password=password, email=given["email"])
            if given["project"]:
                accounts.grant(caller, user, accounts.find_project(given["project"]), given["role"])
    except ServiceError as error:
        return render(request, "people/new.html", {**context, "problem": error}, error.status)
    messages.success(request, _("The account is there. A link lets its owner sign in for the first time."))
    return go(request, f"/app/people/users/{user.id}/")
