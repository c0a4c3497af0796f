"""How tokens and links end before their time: with the one that they were made with, a role, a password, an account.

Web sessions end by themselves: they bear a mark of the password (`web_sessions.mark_of`) and read roles each time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from vetro.server.accounts.models import Membership, Token, User

#: How long tokens stay in the database after their end.
KEPT = timedelta(days=30)
#: Rows that are removed with one statement.
_TOGETHER = 500


def end(tokens: QuerySet[Token]) -> int:
    """Revokes these, and all that were made with them; how many. Called in a transaction."""
    now, count = datetime.now(UTC), 0
    ids = list(tokens.filter(revoked=None).values_list("id", flat=True))
    while ids:
        # Before the children are looked for: whoever is making one waits for this row, and then finds it revoked.
        count += Token.objects.filter(pk__in=ids, revoked=None).update(revoked=now)
        ids = list(Token.objects.filter(parent__in=ids, revoked=None).values_list("id", flat=True))
    return count


def end_links(user: User) -> int:
    """Revokes the links of somebody that were not used yet; how many. Called in a transaction."""
    return end(Token.objects.filter(user=user, single_use=True))


def end_without_role(tokens: QuerySet[Token]) -> int:
    """Revokes those of these whose owners have no role in their project any more; how many. Called in a transaction."""
    role = Membership.objects.filter(user=OuterRef("user"), project=OuterRef("project"))
    return end(tokens.filter(~Exists(role)))


def drop(now: datetime) -> int:
    """Removes tokens and links that were revoked, or expired, `KEPT` ago; how many. Ends those without role before."""
    with transaction.atomic():
        end_without_role(Token.objects.all())
    old = Token.objects.filter(Q(revoked__lt=now - KEPT) | Q(expires__lt=now - KEPT))
    count = 0
    while ids := list(old.values_list("id", flat=True)[:_TOGETHER]):
        count += Token.objects.filter(pk__in=ids).delete()[0]
    return count
