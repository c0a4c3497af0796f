"""Tokens: what programs send instead of a password, and links that sign a person in once.

A token is ``vetro_`` and 43 random characters. The database holds its SHA-256 only: a copy of the database signs
nobody in. Being random, it needs no slow hash.

What a token makes is its child: for the same project, ending no later, and revoked with it. So who got hold of a token
for an hour has nothing left after it, and who revokes a token need not look for others.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from vetro.diagnostics import Text
from vetro.server.accounts.authentication import digest_of
from vetro.server.accounts.models import Membership, Project, Token, User
from vetro.server.accounts.people import checked_name
from vetro.server.accounts.policy import allows, enforce
from vetro.server.accounts.revocation import end
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn
from vetro.server.setup import config

#: How long a link for signing in works.
LINK_LIFE = timedelta(hours=24)
_LONGEST_DAYS = 36500


def create_token(
    caller: Caller, user: User, project: Project, *, name: str = "", days: int | None = None
) -> tuple[Token, str]:
    """A token and its text, which nobody can read again. ``days``: life; 0 for ever, None as configured.

    People make tokens for themselves (rule ``manage_own_tokens``), administrators for everybody. Whoever came by token
    makes them for its project only; they end with it at the latest. Raises `Invalid` for a user who does not belong to
    the project, `Forbidden`.
    """
    _may(caller, user.id)
    days = config()["accounts.token_days"] if days is None else days
    if not 0 <= days <= _LONGEST_DAYS:
        raise Invalid(
            Text(
                "A token lives 0 (for ever) to {longest_days} days, not {days}.", longest_days=_LONGEST_DAYS, days=days
            )
        )
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    return _create(caller, user, project, checked_name(name, Text("token")) if name else "", expires, False)


def create_link(caller: Caller, user: User, project: Project) -> tuple[Token, str]:
    """A secret that signs the user in once, within a day. Raises `Invalid`."""
    enforce(caller, "manage_accounts")
    return _create(caller, user, project, "link", datetime.now(UTC) + LINK_LIFE, True)


def first_link_again(caller: Caller, name: str, project: str) -> str | None:
    """The secret of another first link, where there is but one account, ``name``, which nobody has signed in to yet."""
    users = list(User.objects.all()[:2])
    if len(users) != 1 or users[0].username != name or users[0].has_usable_password() or not users[0].is_active:
        return None
    # A token, or a link that was used.
    if users[0].last_login is not None or Token.objects.exclude(single_use=True, revoked=None).exists():
        return None
    place = Project.objects.filter(name=project, enabled=True, memberships__user=users[0]).first()
    return None if place is None else create_link(caller, users[0], place)[1]


def _link(text: str) -> Token | None:
    """The link, where it still signs somebody in."""
    link = Token.objects.select_related("user", "project").filter(digest=digest_of(text), single_use=True).first()
    usable = (
        link is not None
        and link.revoked is None
        and (link.expires is None or link.expires > datetime.now(UTC))
        and link.user.is_active
        and link.project.enabled
        and Membership.objects.filter(user=link.user, project=link.project).exists()
    )
    return link if usable else None


def link_works(text: str) -> bool:
    """Whether a link would sign somebody in."""
    return _link(text) is not None


def redeem_link(text: str, address: str = "") -> tuple[User, Project]:
    """Whom a link signs in, and where. It works once, for one of two who try at the same time. Raises `NotSignedIn`."""
    now, link = datetime.now(UTC), _link(text)
    with transaction.atomic():
        if link is None or not Token.objects.filter(pk=link.pk, revoked=None).update(revoked=now):
            raise NotSignedIn(
                Text("The link is unknown, expired or was used."), hint=Text("'vetro admin link create' makes one")
            )
        caller = Caller(link.user_id, link.user.username, link.project_id, link.project.name, address=address)
        User.objects.filter(pk=link.user_id).update(last_login=now)
        record(caller, "login.link", link.id, link.user.username)
    return link.user, link.project


def list_tokens(caller: Caller, user: User | None = None) -> list[dict[str, Any]]:
    """Tokens that are not revoked: the caller's own or ``user``'s; administrators see everybody's where it is None.

    Whoever came by token, and is no administrator, sees those of its project.
    """
    found = _within_reach(caller, Token.objects.filter(revoked=None, single_use=False))
    if user is not None:
        _may(caller, user.id)
        found = found.filter(user=user)
    elif not allows(caller, "manage_accounts"):
        found = found.filter(user_id=caller.user_id)
    now = datetime.now(UTC)
    return [
        {
            "id": token.id,
            "name": token.name,
            "prefix": token.prefix,
            "user": token.user.username,
            "project": token.project.name,
            "created": token.created,
            "expires": token.expires,
            "expired": token.expires is not None and token.expires <= now,
            "last_used": token.last_used,
        }
        for token in found.select_related("user", "project").order_by("user__username", "created")
    ]


def revoke_token(caller: Caller, token: str) -> None:
    """Ends a token, named by its id or its whole text, and those made with it; from then on they are refused.

    Raises `NotFound`.
    """
    with transaction.atomic():
        named = Token.objects.filter(Q(pk=token) | Q(digest=digest_of(token)), revoked=None)
        found = _within_reach(caller, named).first()
        if found is None or (found.user_id != caller.user_id and not allows(caller, "manage_accounts")):
            raise NotFound(Text("There is no such token, or it was revoked before."))
        _may(caller, found.user_id)
        count = end(named)
        record(caller, "token.revoke", found.id, found.name, **({"tokens": count} if count > 1 else {}))


def _within_reach(caller: Caller, tokens: QuerySet[Token]) -> QuerySet[Token]:
    """Those of these that the caller's way of signing in lets them see."""
    if caller.token_id is None or allows(caller, "manage_accounts"):
        return tokens
    return tokens.filter(project_id=caller.project_id)


def _may(caller: Caller, user_id: str) -> None:
    enforce(caller, "manage_own_tokens" if user_id == caller.user_id else "manage_accounts")


def _create(
    caller: Caller, user: User, project: Project, name: str, expires: datetime | None, single_use: bool
) -> tuple[Token, str]:
    text = "vetro_" + secrets.token_urlsafe(32)
    with transaction.atomic():
        # Locked: neither the role nor the token goes while this is made, and is then not found by who takes it away.
        if not list(Membership.objects.select_for_update().filter(user=user, project=project)):
            raise Invalid(
                Text("'{username}' does not belong to project '{name}'.", username=user.username, name=project.name),
                hint=Text("'vetro admin project grant' gives a role in it"),
            )
        parent = _parent(caller)
        if parent is not None and parent.project_id != project.id and not single_use:
            raise Forbidden(
                Text("A token makes tokens for its own project only, not for '{name}'.", name=project.name),
                hint=Text("sign in with your password to that project: 'vetro login --project', or your profile"),
            )
        if parent is not None and parent.expires is not None:
            expires = min(expires or parent.expires, parent.expires)
        token = Token.objects.create(
            user=user,
            project=project,
            name=name,
            digest=digest_of(text),
            prefix=text[:10],
            expires=expires,
            single_use=single_use,
            parent=parent,
        )
        record(caller, "link.create" if single_use else "token.create", token.id, name, user=user.username)
    return token, text


def _parent(caller: Caller) -> Token | None:
    """The token that the caller came by. Raises `NotSignedIn` when it has just ended."""
    if caller.token_id is None:
        return None
    parent = Token.objects.select_for_update().filter(pk=caller.token_id, revoked=None).first()
    if parent is None:
        raise NotSignedIn(Text("The token is unknown, expired or revoked."))
    return parent
