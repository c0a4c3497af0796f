"""Changes of health become deliveries: what the watcher wrote down and nobody was told of yet.

The watcher writes that a change is pending with the change itself, and nothing of notices: a slow or failing outbox
holds up neither what it says of environments nor its heartbeat. Here, in another thread, the mark is taken away in the
transaction that writes the deliveries. Who is killed before leaves both to the next one, who is killed after leaves
neither; so each change is told once.
"""

from __future__ import annotations

import logging
import time
from itertools import groupby

from django.db import InterfaceError, OperationalError, transaction

from vetro.server.notices import outbox
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.watch.models import HealthChange

_log = logging.getLogger("vetro.worker")

#: Changes that are looked at in one round, and seconds for which one goes on.
_AT_ONCE, _ROUND = 500, 2.0
#: Seconds until changes are tried again that could not be told.
_AGAIN = 60.0


class Changes:
    """What one worker does about them. Several may; each change is one's only."""

    def __init__(self) -> None:
        #: Environments whose changes cannot be told, and when they are tried again.
        self._later: dict[str, float] = {}

    def tell(self) -> int:
        """Has deliveries written for what is pending, of one environment after the other; how many changes.

        What cannot be told of one environment is tried again later. Raises `OperationalError` and `InterfaceError` when
        there is no database.
        """
        begun, count = time.monotonic(), 0
        self._later = {id: at for id, at in self._later.items() if at > begun}
        # Without what they say, which not every key opens.
        rows = HealthChange.objects.filter(pending=True).exclude(environment_id__in=list(self._later)).defer("detail")
        found = sorted(rows.order_by("id")[:_AT_ONCE], key=lambda row: (row.environment_id, row.id))
        crowd = outbox.crowded(found)
        for id, changes in groupby(found, key=lambda row: row.environment_id):
            if time.monotonic() - begun > _ROUND:
                break
            mine = list(changes)
            try:
                count += self._tell(mine, crowd)
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:
                _log.warning("nobody is told how environment %s is: %s", id, error, exc_info=True)
                self._later[id] = time.monotonic() + _AGAIN
        return count

    def _tell(self, changes: list[HealthChange], crowd: frozenset[str]) -> int:
        with transaction.atomic():
            own = HealthChange.objects.filter(pk__in=[row.pk for row in changes], pending=True)
            if own.update(pending=False) != len(changes):
                transaction.set_rollback(True)
                return 0  # another worker tells them, or the environment is gone
            try:
                changes = list(HealthChange.objects.filter(pk__in=[row.pk for row in changes]).order_by("id"))
            except KeysUnusable:  # that it changed can be told all the same
                for row in changes:
                    row.detail = None
            outbox.health_changed(changes, crowd)
        return len(changes)
