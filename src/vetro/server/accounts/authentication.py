"""`caller_of`: who sent a request, from its token (API.md 1; on /v2 also ``Authorization: Bearer``).

A revoked token is refused by the next request in every process: what a token stands for is remembered only as long as
nothing has changed in the database (`vetro.server.cache.UntilCommit`). One query answers all of it; it is written
in SQL since it is part of every request.
"""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from vetro.diagnostics import Text
from vetro.server.accounts import token_usage
from vetro.server.accounts.keystone import caller_of_keystone
from vetro.server.accounts.models import Membership
from vetro.server.accounts.policy import is_admin
from vetro.server.cache import UntilCommit
from vetro.server.caller import Caller
from vetro.server.errors import NotSignedIn
from vetro.server.queries import fetch, time_value
from vetro.server.setup import config

#: Tokens that a thread remembers.
_MOST = 256
_standing = UntilCommit(_MOST)
#: One row for each role: the user, the project, the role.
_LOOK_UP = """
SELECT t.id, u.id, u.username, p.id, p.name, m.role, t.expires
FROM accounts_token t
JOIN accounts_user u ON u.id = t.user_id
JOIN accounts_project p ON p.id = t.project_id
JOIN accounts_membership m ON m.user_id = t.user_id AND m.project_id = t.project_id
WHERE t.digest = %s AND NOT t.single_use AND t.revoked IS NULL AND (t.expires IS NULL OR t.expires > %s)
  AND u.is_active AND p.enabled
"""


def digest_of(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def caller_of(request: HttpRequest, *, bearer: bool = False) -> Caller:
    """The caller. Raises `NotSignedIn` for a token that is missing, unknown, expired or revoked."""
    token = request.META.get("HTTP_X_AUTH_TOKEN", "")
    if not token and bearer:
        kind, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        token = value.strip() if kind.lower() == "bearer" else ""
    if not token:
        raise NotSignedIn(
            Text("This needs a token."), hint=Text("send one as X-Auth-Token; 'vetro admin token create' makes one")
        )
    caller = caller_of_token(token, request.META.get("REMOTE_ADDR", ""))
    # For the log line and the metrics of the request (`vetro.server.observe.requests`).
    request.META["vetro.caller"] = caller
    return caller


def caller_of_token(token: str, address: str = "") -> Caller:
    """The caller that a token stands for, local or of the Keystone that is configured. Raises `NotSignedIn`."""
    digest = digest_of(token)
    known = _standing.get(digest, lambda: _look_up(digest))
    if known is None or known[-1] <= time.time():
        if config()["keystone.url"]:
            return caller_of_keystone(token, address)
        raise NotSignedIn(Text("The token is unknown, expired or revoked."))
    token_id, user_id, user_name, project_id, project_name, roles, _ = known
    token_usage.note(token_id)
    return Caller(
        user_id,
        user_name,
        project_id,
        project_name,
        roles,
        is_admin(roles, user_id, project_id),
        token_id,
        address,
    )


def _look_up(digest: str) -> tuple[Any, ...] | None:
    """(token, user and their name, project and its name, roles, when it expires in seconds since 1970); None: no."""
    rows = fetch(_LOOK_UP, (digest, time_value(datetime.now(UTC))))
    if not rows:
        return None
    expires = rows[0][6]
    if isinstance(expires, str):  # SQLite, in UTC
        expires = datetime.fromisoformat(expires).replace(tzinfo=UTC)
    ends = float("inf") if expires is None else expires.timestamp()
    return (*rows[0][:5], tuple(sorted({row[5] for row in rows})), ends)


def caller_of_user(user_id: str, project_id: str = "", address: str = "") -> Caller:
    """A signed-in person (web session) in one of their projects; without ``project_id`` in the first by name.

    Raises `NotSignedIn` when the account is locked or belongs to no such project.
    """
    found = Membership.objects.filter(user_id=user_id, user__is_active=True, project__enabled=True)
    if project_id:
        found = found.filter(project_id=project_id)
    rows = list(
        found.order_by("project__name", "role").values_list("user__username", "project_id", "project__name", "role")
    )
    if not rows:
        raise NotSignedIn(Text("The account is locked, or does not belong to this project."))
    user_name, project, project_name, _ = rows[0]
    roles = tuple(role for _, other, _, role in rows if other == project)
    return Caller(user_id, user_name, project, project_name, roles, is_admin(roles, user_id, project), None, address)
