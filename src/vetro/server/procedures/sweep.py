"""`sweep`: goes on with procedures that wait for a moment, or whose tasks ended unseen; `Sweeper`: in workers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from importlib import import_module
from types import ModuleType

from django.db import Error as DatabaseFailed
from django.db import connections
from django.db.models import Q

from vetro.engine.procedures.guarded_update import GuardedUpdate
from vetro.engine.task.launcher import Launcher
from vetro.engine.watching.states import State
from vetro.server.config.config import Config
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.store import reconcile
from vetro.server.tasks import clock

_log = logging.getLogger("vetro.worker")

#: Seconds between two sweeps, and procedures that one looks at.
EVERY, AT_ONCE = 2.0, 200
#: Seconds for which who looks at health has a procedure, and by which a clock was set back and not only adjusted.
LOOKING, SET_BACK = 90.0, 10.0
#: Seconds that the thread of a worker gets to end.
_LAST = 5.0

Look = Callable[[Procedure], Mapping[str, State]]


def due(labels: Collection[str] = ()) -> list[str]:
    """The procedures that are to be looked at now, by who has these labels (none: all)."""
    now = clock.read()
    rows = Procedure.objects.filter(finished=None, wake_at__isnull=False)
    rows = rows.filter(Q(wake_at__lte=now) | Q(looked__gt=now + timedelta(seconds=SET_BACK)))
    if labels:
        rows = rows.filter(label__in=["", *labels])
    return list(rows.order_by("wake_at").values_list("id", flat=True)[:AT_ONCE])


def sweep(look: Look, labels: Collection[str] = ()) -> int:
    """Goes on with what is due; how many. ``look``: how the environment of a procedure is."""
    ids = due(labels)
    for id in ids:
        visit(id, look)
    return len(ids)


def visit(id: str, look: Look) -> Procedure | None:
    """Goes on with one procedure; looks at its environment first where that decides: as it is then, None when ended."""
    row = Procedure.objects.filter(id=id, finished=None).first()
    if row is None:
        return None
    now, health = clock.read(), None
    record = GuardedUpdate.from_json(row.record)
    if row.step == "drafting" and not row.asked:
        until = now + timedelta(seconds=LOOKING)
        mine = Procedure.objects.filter(id=id, wake_at=row.wake_at, step="drafting")
        if not mine.update(wake_at=until):
            return row
        row.wake_at = until
        # Loaded here: it needs what makes upgrades, which few commands do.
        found: Procedure | None = import_module("vetro.server.procedures.chains").begin_next_part(row)
        return found
    settled = row.step == "settling" and record.by_health and (record.until or 0.0) <= now.timestamp()
    if (settled or row.step == "recovering") and not row.asked:
        # Nobody else looks at the same time: looking takes a while.
        mine = Procedure.objects.filter(id=id, wake_at=row.wake_at, step=row.step)
        if not mine.update(wake_at=now + timedelta(seconds=LOOKING)):
            return row
        health = look(row)
    return reconcile(id, health=health)


class Sweeper:
    """A thread of a worker; several workers may sweep at once."""

    def __init__(self, config: Config, launcher: Launcher) -> None:
        self._config = config
        self._launcher = launcher
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vetro procedures", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it; what it has begun is finished, or done by the next one."""
        self._over.set()
        self._thread.join(_LAST)

    def _run(self) -> None:
        try:
            while not self._over.wait(EVERY):
                try:
                    for id in due(self._config["worker.labels"]):
                        if self._over.is_set():
                            break
                        self._visit(id)
                except DatabaseFailed as error:
                    _log.error("procedures wait, the database failed: %s", error)
                    connections.close_all()
        finally:
            connections.close_all()

    def _visit(self, id: str) -> None:
        try:
            visit(id, self._look)
        except DatabaseFailed:
            raise
        except Exception:  # whatever is wrong with one, the others go on
            _log.exception("procedure %s cannot go on", id)
            Procedure.objects.filter(id=id).update(wake_at=clock.read() + timedelta(seconds=LOOKING))

    def _look(self, row: Procedure) -> Mapping[str, State]:
        found: Mapping[str, State] = looking().look(self._config, self._launcher, row)
        return found


def looking() -> ModuleType:
    """What looks at environments (`vetro.server.procedures.health`)."""
    from vetro.server.procedures import health  # it loads clouds, which few commands need

    return health
