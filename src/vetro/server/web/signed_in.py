"""Who is signed in to the pages: a web session names a user and the project she acts in."""

from __future__ import annotations

from django.http import HttpRequest

from vetro.server.caller import Caller
from vetro.server.setup import config

#: Keys in the web session.
USER, PROJECT = "vetro_user", "vetro_project"


def caller_of_session(request: HttpRequest) -> Caller | None:
    """The caller; None when nobody is signed in, or who was has no project any more."""
    from vetro.server.accounts.models import Membership

    user_id = request.session.get(USER)
    if not user_id:
        return None
    rows = list(
        Membership.objects.filter(user_id=user_id, user__is_active=True, project__enabled=True)
        .order_by("project__name")
        .values_list("project_id", "project__name", "role", "user__username")
    )
    if not rows:
        return None
    project = request.session.get(PROJECT)
    if not any(row[0] == project for row in rows):
        project = rows[0][0]
    roles = tuple(row[2] for row in rows if row[0] == project)
    name = next(row[1] for row in rows if row[0] == project)
    request.vetro_projects = sorted({(row[0], row[1]) for row in rows}, key=lambda p: p[1])  # type: ignore[attr-defined]
    return Caller(
        user_id,
        rows[0][3],
        str(project),
        name,
        roles,
        config()["accounts.admin_role"] in roles,
        None,
        request.META.get("REMOTE_ADDR", ""),
    )


def sign_in_session(request: HttpRequest, user_id: str, project_id: str = "") -> None:
    """Signs somebody in; the session gets a new key, so that one planted before is worth nothing."""
    request.session.flush()
    request.session.cycle_key()
    request.session[USER] = user_id
    if project_id:
        request.session[PROJECT] = project_id


def sign_out_session(request: HttpRequest) -> None:
    """Forgets the session."""
    request.session.flush()
