"""The draft that somebody works on in an environment: the one that pages show, change and deploy.

It is the newest of her sessions that can still be used (`sessions.newest_draft`).
"""

from __future__ import annotations

from vetro.server.accounts.models import User
from vetro.server.caller import Caller
from vetro.server.environments import queries, sessions
from vetro.server.environments.models import Session


def wanted(caller: Caller, environment_id: str) -> Session:
    """The person's draft, opened now if there was none. Raises `NotFound`, `Busy`."""
    found = queries.get(caller, environment_id)
    return sessions.newest_draft(caller, found) or sessions.open_session(caller, environment_id)


def outdated(caller: Caller, found: queries.ListedEnvironment) -> list[Session]:
    """Drafts of hers with changes that cannot be deployed any more, newest first: the environment went on."""
    rows = Session.objects.filter(
        environment_id=found.id, user_id=caller.user_id, state=Session.OPENED, version__lt=found.version
    ).exclude(id=found.session_id)
    return list(rows.filter(draft__isnull=False).order_by("-updated")[:5])


def of_others(caller: Caller, found: queries.ListedEnvironment) -> list[tuple[str, Session]]:
    """(name of the person, session) of changes that others are making, newest first."""
    if found.busy:
        return []
    rows = Session.objects.filter(environment_id=found.id, state=Session.OPENED, version=found.version)
    rows = rows.filter(draft__isnull=False).exclude(user_id=caller.user_id).defer("draft", "answers")
    listed = list(rows.order_by("-updated")[:10])
    names = dict(User.objects.filter(id__in={row.user_id for row in listed}).values_list("id", "username"))
    return [(names.get(row.user_id, row.user_id), row) for row in listed]
