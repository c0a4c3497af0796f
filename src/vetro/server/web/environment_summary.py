"""`summaries`: what lists tell of environments besides their rows: applications, servers, addresses, drift.

All of it is read from models and classes, so it is found once for each version of an environment and each look at its
cloud. Lists show what is known, and ask again for the rest.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from vetro.data_classes import dataclass
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import class_name, label_of, type_of
from vetro.server.cache import RecentCache
from vetro.server.caller import Caller
from vetro.server.environments import queries, reachable_addresses
from vetro.server.environments.power_steps import machines
from vetro.server.environments.queries import ListedEnvironment
from vetro.server.environments.reachable_addresses import Address
from vetro.server.errors import ServiceError
from vetro.server.watch import drift
from vetro.server.watch.models import Inventory

#: Addresses and applications of an environment that are told.
SHOWN: Final = 3
ICONS: Final = 5
#: Seconds for finding out in one request.
_PATIENCE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Summary:
    """What an environment has. ``applications``: class and name of the first of them."""

    applications: tuple[tuple[str, str], ...] = ()
    count: int = 0
    servers: int = 0
    addresses: tuple[Address, ...] = ()
    #: How many things are not as the last task left them.
    drift: int = 0


_EMPTY: Final = Summary()
Key = tuple[str, int, datetime, str]
_known = RecentCache(5000)


def summaries(caller: Caller, rows: Sequence[ListedEnvironment], *, look: bool = False) -> Mapping[str, Summary | None]:
    """Environment -> its summary; None: nobody has looked yet.

    ``look``: those are looked at now, as many as fit into a second, one at least; whoever asks again gets the others.
    """
    ids = [row.id for row in rows]
    seen = dict(Inventory.objects.filter(environment_id__in=ids).values_list("environment_id", "digest"))
    until, found = time.monotonic() + _PATIENCE, dict[str, Summary | None]()
    for row in rows:
        key: Key = (row.id, row.version, row.changed, seen.get(row.id, ""))
        summary: Summary | None = _known.known(key) if row.version else _EMPTY
        if summary is None and look:
            summary = _known.get(key, lambda row=row: _look(caller, row))  # type: ignore[misc]
            look = time.monotonic() < until
        found[row.id] = summary
    return found


def _look(caller: Caller, row: ListedEnvironment) -> Summary:
    try:
        whole = queries.get(caller, row.id, model=True)
        root = deployed_objects(whole.model or {})
        items = applications_of(root)
        servers = sum(len(wave) for wave in machines(root))
        deviations = len(drift.of(whole).items)
    except ServiceError:  # it is gone
        return _EMPTY
    try:
        told = tuple(reachable_addresses.of_found(caller, whole)[:SHOWN])
    except ServiceError:  # its packages cannot be read now: its own page says so
        told = ()
    named = tuple((class_name(type_of(item)), label_of(item)[:255]) for item in items[:ICONS])
    return Summary(named, len(items), servers, told, deviations)
