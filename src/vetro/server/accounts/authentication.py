"""`caller_of`: who sent a request, from its token (API.md 1; on /v2 also ``Authorization: Bearer``)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from django.http import HttpRequest

from vetro.server.caller import Caller
from vetro.server.errors import NotSignedIn
from vetro.server.setup import config


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
        raise NotSignedIn("This needs a token.", hint="send one as X-Auth-Token; 'vetro admin token create' makes one")
    return caller_of_token(token, request.META.get("REMOTE_ADDR", ""))


def caller_of_token(token: str, address: str = "") -> Caller:
    """The caller that a token stands for. Raises `NotSignedIn`."""
    from vetro.server.accounts.models import Membership, Token

    found = (
        Token.objects.filter(digest=digest_of(token), single_use=False, revoked=None)
        .select_related("user", "project")
        .first()
    )
    now = datetime.now(UTC)
    if (
        found is None
        or (found.expires is not None and found.expires <= now)
        or not found.user.is_active
        or not found.project.enabled
    ):
        raise NotSignedIn("The token is unknown, expired or revoked.")
    roles = tuple(
        Membership.objects.filter(user_id=found.user_id, project_id=found.project_id).values_list("role", flat=True)
    )
    if not roles:
        raise NotSignedIn("The owner of the token does not belong to its project any more.")
    return Caller(
        found.user_id,
        found.user.username,
        found.project_id,
        found.project.name,
        roles,
        config()["accounts.admin_role"] in roles,
        found.id,
        address,
    )
