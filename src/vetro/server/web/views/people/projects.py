"""Projects, for administrators: listed, made, closed and opened; who belongs to one."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import Project, User
from vetro.server.caller import Caller
from vetro.server.errors import Conflict, ServiceError
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.people.changes import done, known_roles, paged

_RULE = "manage_accounts"


@page("GET", "POST", rule=_RULE)
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All projects, and a form for one more."""
    given = {name: request.POST.get(name, "").strip() for name in ("name", "description")}
    more: dict[str, Any] = {}
    if request.method == "POST":
        try:
            made = accounts.create_project(caller, given["name"], description=given["description"])
        except ServiceError as error:
            more = {"problem": error}
        else:
            return go(request, f"/app/people/projects/{made.id}/")
    rows = paged(accounts.list_projects(caller), request.GET.get("page"))
    status = more["problem"].status if more else 200
    return render(request, "people/projects.html", {**rows, **given, **more, "tab": "projects"}, status)


@page(rule=_RULE)
def show(request: HttpRequest, caller: Caller, project: str) -> HttpResponse:
    """Who belongs to a project."""
    found = _found(project)
    rows = found.memberships.order_by("user__username", "role").values_list("user_id", "user__username", "role")
    members: dict[str, dict[str, Any]] = {}
    for user_id, name, role in rows:
        members.setdefault(user_id, {"id": user_id, "name": name, "roles": []})["roles"].append(role)
    others = User.objects.exclude(id__in=list(members)).order_by("username").values_list("id", "username")
    context = {
        "project": found, "members": list(members.values()), "others": list(others[:1000]),
        "known_roles": known_roles(), "tab": "projects", "here": found.id == caller.project_id,
    }  # fmt: skip
    return render(request, "people/project.html", context)


@page("POST", rule=_RULE)
def add(request: HttpRequest, caller: Caller, project: str) -> HttpResponse:
    """Gives somebody a role in the project."""
    found = _found(project)
    user = User.objects.filter(id=request.POST.get("user", "")).first()
    if user is None:
        raise missing(_("person"))
    role = request.POST.get("role", "")
    text = _("%(name)s is %(role)s in %(project)s.") % {"name": user.username, "role": role, "project": found.name}
    return done(request, _page(found), text, lambda: accounts.grant(caller, user, found, role))


@page("POST", rule=_RULE)
def switch(request: HttpRequest, caller: Caller, project: str) -> HttpResponse:
    """Closes a project or opens it again."""
    found = _found(project)
    opening = request.POST.get("to") == "open"

    def act() -> None:
        if found.id == caller.project_id and not opening:
            raise Conflict(_("You are working in this project. Change to another one first."))
        accounts.set_project_enabled(caller, found, opening)

    text = _("The project is open.") if opening else _("The project is closed: its tokens work no longer.")
    return done(request, _page(found), text, act)


def _found(project: str) -> Project:
    found = Project.objects.filter(id=project).first()
    if found is None:
        raise missing(_("project"))
    return found


def _page(project: Project) -> str:
    return f"/app/people/projects/{project.id}/"
