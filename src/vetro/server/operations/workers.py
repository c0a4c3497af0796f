"""What operators do with an installation while it runs: let workers end."""

from __future__ import annotations

from django.db import transaction

from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.tasks import drain as draining

_RULE = "operate"


@transaction.atomic
def drain(caller: Caller, name: str, *, within: float | None = None) -> str:
    """Asks a worker (by the beginning of its name) to take nothing more and to end when its tasks have; its name.

    ``within``: seconds after which others continue what still runs. Raises `Forbidden`, `NotFound`.
    """
    enforce(caller, _RULE)
    (found,) = draining.drain([name], within=within)
    record(caller, "worker.drain", "", found, **({} if within is None else {"within": within}))
    return found
