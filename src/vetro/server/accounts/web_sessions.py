"""Who is signed in to the pages: a web session names a user and the project she acts in.

It also bears a mark of her password: when that changes, her sessions end wherever they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.middleware.csrf import rotate_token
from django.utils.crypto import constant_time_compare, salted_hmac

from vetro.server.accounts.keystone_login import opened
from vetro.server.accounts.models import Membership
from vetro.server.accounts.policy import is_admin
from vetro.server.caller import Caller
from vetro.server.errors import NotSignedIn

if TYPE_CHECKING:
    from vetro.server.accounts.keystone_login import Visit
    from vetro.server.accounts.models import User

#: Keys in the web session.
USER, PROJECT, MARK = "vetro_user", "vetro_project", "vetro_mark"
#: Instead of the first three, where a Keystone knows her (`vetro.server.accounts.keystone_login`).
VISIT = "vetro_visit"
#: Set where the person chose them; else the browser's count.
LANGUAGE, ZONE = "vetro_language", "vetro_zone"


def caller_of_session(request: HttpRequest) -> Caller | None:
    """The caller; None when nobody is signed in, or who was has no project any more. Raises `Unavailable`."""
    if VISIT in request.session:
        visit = visit_of(request)
        try:
            caller = None if visit is None else visit.caller(request.META.get("REMOTE_ADDR", ""))
        except NotSignedIn:
            return None
        request.vetro_projects = [] if visit is None else list(visit.projects)  # type: ignore[attr-defined]
        return caller
    user_id = request.session.get(USER)
    if not user_id:
        return None
    rows = list(
        Membership.objects.filter(user_id=user_id, user__is_active=True, project__enabled=True)
        .order_by("project__name")
        .values_list("project_id", "project__name", "role", "user__username", "user__password")
    )
    if not rows or not constant_time_compare(request.session.get(MARK, ""), mark_of(rows[0][4])):
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
        is_admin(roles, user_id, str(project)),
        None,
        request.META.get("REMOTE_ADDR", ""),
    )


def mark_of(password: str) -> str:
    """What a session keeps of a (hashed) password."""
    return salted_hmac("vetro.session", password, algorithm="sha256").hexdigest()


def sign_in_session(request: HttpRequest, user: User, project_id: str = "") -> None:
    """Signs somebody in; session and CSRF token are new ones, so that those planted before are worth nothing."""
    request.session.flush()
    request.session.cycle_key()
    rotate_token(request)
    request.session.update(session_of(user, project_id))


def visit_of(request: HttpRequest) -> Visit | None:
    """The visit of who is signed in by a Keystone; None for others."""
    kept = request.session.get(VISIT)
    return opened(kept) if kept else None


def begin_visit(request: HttpRequest, visit: Visit) -> None:
    """Signs somebody in whom a Keystone knows, or goes on in another project; language and zone stay then."""
    chosen = {
        key: request.session[key] for key in (LANGUAGE, ZONE) if VISIT in request.session and key in request.session
    }
    if VISIT not in request.session:
        rotate_token(request)
    request.session.flush()
    request.session.cycle_key()
    request.session.update({**chosen, VISIT: visit.kept()})


def session_of(user: User, project_id: str = "") -> dict[str, str]:
    """What the web session of somebody holds who is signed in."""
    found = {USER: user.id, MARK: mark_of(user.password), LANGUAGE: user.language, ZONE: user.timezone}
    return {**found, PROJECT: project_id} if project_id else found


def refresh_session(request: HttpRequest, user: User) -> None:
    """Goes on with a new key after a change of password, language or zone."""
    request.session.cycle_key()
    request.session.update(session_of(user))


def sign_out_session(request: HttpRequest) -> None:
    """Forgets the session."""
    request.session.flush()
