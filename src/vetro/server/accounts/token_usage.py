"""When tokens were used last: collected in memory and written now and then, so that reading costs no write."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import transaction

_seen: dict[str, datetime] = {}


def note(token_id: str) -> None:
    """A token was used."""
    _seen[token_id] = datetime.now(UTC)


def flush() -> int:
    """Writes what was noted since the last time; how many tokens that were."""
    from vetro.server.accounts.models import Token

    # Taken out one by one: requests go on noting meanwhile.
    taken = []
    while _seen:
        try:
            taken.append(_seen.popitem())
        except KeyError:
            break
    with transaction.atomic():
        # In one order: processes that do this at the same moment do not wait for each other in a circle.
        for token_id, at in sorted(taken):
            Token.objects.filter(pk=token_id).exclude(last_used__gte=at).update(last_used=at)
    return len(taken)
