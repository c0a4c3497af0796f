"""`Deliverer`: the thread of a worker that sends what the outbox holds, each notice at least once; changes of health
become notices first.

A delivery is claimed by a lease: who is killed between sending and writing that it was sent leaves it to another
worker, which sends it again under the same id. What fails is tried again after twice the time, up to six hours, and is
dead after three days, and `TRIED` attempts.

One target has one delivery under way from here, one project a few, so nobody waits for the slow receivers of others. A
target that fails is left alone for a while, with all that there is for it: a receiver that is away costs one attempt a
time, not one a notice.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.db import Error as DatabaseFailed
from django.db import connections, transaction
from django.db.models import F, Q, QuerySet

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, encode_messages
from vetro.engine.worker.ports import Step
from vetro.server.config.config import Config
from vetro.server.ids import new_id
from vetro.server.notices.changes import Changes
from vetro.server.notices.channels import send
from vetro.server.notices.message import Failed, Message, message_of
from vetro.server.notices.models import Delivery, Target
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.tasks import clock
from vetro.server.tasks.task_runner import no_step

_log = logging.getLogger("vetro.worker")

#: Seconds between two looks at what is due, while nothing is under way and while something is.
IDLE, BUSY = 2.0, 0.2
#: Deliveries under way at once, and those of one project.
AT_ONCE, EACH = 4, 2
#: Seconds for which nobody else sends what was claimed: longer than any attempt takes (`channels.SECONDS`).
LEASE = 60.0
#: Seconds until a second attempt, and at most until another one; days after which there is none.
FIRST, LONGEST, DAYS = 10.0, 6 * 3600.0, 3
#: Attempts that nothing is dead before: they take five hours, whatever the clock says meanwhile.
TRIED = 12
#: Seconds that what is under way gets at the end.
_LAST = 5.0
#: Seconds between two looks at what is dead without having been tried; projects whose turns are remembered.
_EXPIRE, _KNOWN = 60.0, 10_000

Send = Callable[[Message, Config], None]


@dataclass(frozen=True, slots=True)
class _Claim:
    """A delivery that this process sends, and by which owner's name it is its own."""

    delivery: Delivery
    target: Target
    owner: str


class Deliverer:
    """``sending`` sends one message and raises `Failed`; ``step`` is called around each step, for tests."""

    def __init__(self, config: Config, worker: str, sending: Send = send, step: Step = no_step) -> None:
        self._config = config
        self._worker = worker
        self._sending = sending
        self._step = step
        self._over, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="vetro notices", daemon=True)
        self._under_way: dict[Future[Failed | None], _Claim] = {}
        #: Projects in the order in which they were served last.
        self._served: dict[str, None] = {}
        self._expired = 0
        self._changes = Changes()

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it; what is under way gets some seconds."""
        self._over.set()
        self._wake.set()
        self._thread.join(_LAST * 2)

    def _run(self) -> None:
        pool = ThreadPoolExecutor(AT_ONCE, "vetro notice")
        try:
            while not self._over.is_set():
                try:
                    self._round(pool)
                except DatabaseFailed as error:  # the next round tries again
                    _log.warning("notices are not sent for now, the database failed: %s", error)
                    connections.close_all()
                    self._over.wait(IDLE)  # what is under way would have it asked at once
                except Exception:
                    _log.exception("a defect while notices are sent")
                    self._over.wait(IDLE)
                self._wake.wait(BUSY if self._under_way else IDLE)
                self._wake.clear()
        finally:
            self._end(pool)
            connections.close_all()

    def _round(self, pool: ThreadPoolExecutor) -> None:
        self._settle_ended()
        self._changes.tell()
        self._expired -= 1
        if self._expired < 0:
            self._expired = int(_EXPIRE / IDLE)
            expire()
        while len(self._under_way) < AT_ONCE and (claim := self._claim()) is not None:
            future = pool.submit(self._attempt_beside, claim)
            self._under_way[future] = claim
            future.add_done_callback(lambda _: self._wake.set())

    def _end(self, pool: ThreadPoolExecutor) -> None:
        pool.shutdown(wait=False, cancel_futures=True)
        try:
            for future in list(self._under_way):
                try:
                    future.exception(_LAST)
                except Exception:  # cancelled, or still under way: its lease lapses
                    continue
            self._settle_ended()
        except DatabaseFailed:  # what was sent is sent again
            return

    def run_due(self) -> int:
        """Sends what is due in this thread, one after the other; how many were tried. For tests."""
        count = 0
        self._changes.tell()
        while (claim := self._claim()) is not None:
            self._settle(claim, self._attempt(claim))
            count += 1
        return count

    # -- one delivery --------------------------------------------------------------------------------------------------

    def _claim(self) -> _Claim | None:
        """The next delivery that is due, if there is one for somebody who has none under way."""
        claims = self._under_way.values()
        projects = [claim.delivery.project_id for claim in claims]
        rows = _due().exclude(target_id__in=[claim.target.id for claim in claims])
        rows = rows.exclude(project_id__in={id for id in projects if projects.count(id) >= EACH})
        while (project := self._next_project(rows)) is not None:
            mine = rows.filter(project_id=project)
            if (id := mine.order_by("due", "id").values_list("id", flat=True).first()) is None:
                continue
            owner = f"{self._worker[:30]} {new_id()}"
            # By the row's own columns: what another one took meanwhile is looked at again as it is then.
            free = Delivery.objects.filter(_free(), _over("due", LONGEST), id=id, state=Delivery.WAITING)
            if free.update(owner=owner, lease_until=clock.after(LEASE), attempts=F("attempts") + 1):
                self._step("claimed", id)
                # What is encrypted is read where the attempt can fail.
                found = Delivery.objects.select_related("target").defer("body", "target__settings", "target__keys")
                delivery = found.get(id=id)
                self._served.pop(project, None)
                self._served[project] = None
                return _Claim(delivery, delivery.target, owner)
        return None

    def _next_project(self, rows: QuerySet[Delivery]) -> str | None:
        """Whose turn it is of those for whom something is due: however much of one waits, others are served between."""
        there = set(rows.order_by().values_list("project_id", flat=True).distinct())
        while len(self._served) > _KNOWN:
            del self._served[next(iter(self._served))]
        first = min(there - self._served.keys(), default=None)
        return first or next((id for id in self._served if id in there), None)

    def _attempt(self, claim: _Claim) -> Failed | None:
        """Sends it; why that failed."""
        try:
            self._sending(message_of(claim.delivery, claim.target), self._config)
        except Failed as failed:
            return failed
        except KeysUnusable:
            return Failed(Text("the keys of the service do not open it"))
        except DatabaseFailed:
            return Failed(Text("the database did not answer"))
        except Exception:
            _log.exception("a defect while notice %s is sent", claim.delivery.id)
            return Failed(Text("a defect of the service; its log says more"))
        self._step("sent", claim.delivery.id)
        return None

    def _attempt_beside(self, claim: _Claim) -> Failed | None:
        """The same in a thread of the pool, whose connection nobody else closes."""
        try:
            return self._attempt(claim)
        finally:
            connections.close_all()

    def _settle_ended(self) -> None:
        for future in [future for future in self._under_way if future.done()]:
            claim = self._under_way[future]
            if not future.cancelled():
                self._settle(claim, future.result())
            del self._under_way[future]

    def _settle(self, claim: _Claim, failed: Failed | None) -> None:
        """Writes what became of it, if it is still this process's."""
        delivery, target = claim.delivery, claim.target
        now = clock.read()
        with transaction.atomic():
            own = Delivery.objects.filter(id=delivery.id, owner=claim.owner, state=Delivery.WAITING)
            targets = Target.objects.filter(id=target.id)
            free: dict[str, Any] = {"owner": "", "lease_until": None}
            if failed is None:
                own.update(state=Delivery.DELIVERED, ended=now, problem=None, **free)
                targets.exclude(failures=0).update(failures=0, quiet_until=None)
            else:
                told = encode_messages({"text": failed.text})
                tried = max(delivery.attempts, target.failures + 1) >= TRIED
                if failed.gone or (tried and now - delivery.begins > timedelta(days=DAYS)):
                    own.update(state=Delivery.DEAD, ended=now, problem=told, **free)
                else:
                    own.update(due=_later(now, delivery.attempts), problem=told, **free)
                quiet = _later(now, target.failures + 1)
                targets.update(failures=F("failures") + 1, quiet_until=quiet)
                if failed.gone:
                    targets.update(enabled=False)
        self._step("settled", delivery.id)


def expire() -> int:
    """Ends what could not be delivered in time, also what nobody tried: of targets that are switched off; how much.

    A clock that is set forward lets no time pass: what was not tried often enough is tried, however old it seems.
    """
    old = Delivery.objects.filter(state=Delivery.WAITING, begins__lt=clock.after(-DAYS * 86400.0))
    old = old.filter(Q(attempts__gte=TRIED) | Q(target__failures__gte=TRIED) | Q(target__enabled=False))
    return old.filter(_free()).update(state=Delivery.DEAD, ended=clock.after(), owner="", lease_until=None)


def _free() -> Q:
    return Q(lease_until=None) | _over("lease_until", LEASE)


def _due() -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        _free(),
        _over("due", LONGEST),
        Q(target__quiet_until=None) | _over("target__quiet_until", LONGEST),
        state=Delivery.WAITING,
        target__enabled=True,
    )


def _over(column: str, most: float) -> Q:
    """Whether a moment has come that was ``most`` seconds away at most. One that is much farther away was written
    before the clock was set back."""
    return Q(**{f"{column}__lte": clock.after()}) | Q(**{f"{column}__gt": clock.after(2 * most)})


def _later(now: datetime, failures: int) -> datetime:
    """When to try again after so many failures; not all at the same moment."""
    seconds = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30))
    return now + timedelta(seconds=seconds * random.uniform(0.9, 1.0))
