"""`TaskRunner`: takes one claimed task to its end, or gives it back.

What fails around a task (a database that does not answer, a cloud that cannot be opened) is no fault of the task: it is
given back and tried again after a while. Only when that does not help is it ended as failed, with its last checkpoint,
so that nothing waits for ever. A database that is away is waited for; one that refuses what is to be written will do so
the next time, too: that counts (`_outage`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.db import DataError, IntegrityError, connections
from django.db import Error as DatabaseFailed
from django.db.models import F

from vetro.diagnostics import Text, encode_messages
from vetro.engine.host import heartbeat
from vetro.engine.outcome import Outcome
from vetro.engine.task.launcher import LauncherError
from vetro.engine.task.method_spans import MOST as MOST_SPANS
from vetro.engine.version import engine_version
from vetro.engine.worker.journal import OtherEngine, OtherTask
from vetro.engine.worker.ports import HostPort, HostUnavailable, LeaseLost, Policies, ProcessLauncher, Step
from vetro.engine.worker.state import WorkerLimits
from vetro.engine.worker.worker import Worker
from vetro.server.config.config import Config
from vetro.server.errors import Unavailable
from vetro.server.observe import traces
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.tasks import effect_hosts, hooks, spec, wakeup
from vetro.server.tasks.batch import Batch
from vetro.server.tasks.claim import Lease
from vetro.server.tasks.compilation import Compilation
from vetro.server.tasks.completion import Ending, break_off, finish
from vetro.server.tasks.errors import BegunTooOften, InternalFailure
from vetro.server.tasks.journal import DbJournal, with_journal, with_new_journal
from vetro.server.tasks.models import JournalTask, Task
from vetro.server.tasks.release import release
from vetro.server.tasks.script_output import OutputLog
from vetro.server.tasks.waits import WaitLog
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")

#: How often a task is given back because of what is around it, before it has failed; the pauses between, in seconds.
MOST_FAILURES = 5
PAUSES = (1.0, 5.0, 20.0, 60.0)
#: Claims after which pauses grow while the database fails, and the longest one in seconds: a disk that stays full is
#: waited for for hours.
_QUICK = 19
MOST_PAUSE = 60.0
#: Classes of SQLSTATE that say that the data cannot be written, now or later: data, integrity, limits of the program.
_REFUSED = ("22", "23", "54")
#: How often it may be claimed at all: something kills the workers that run it.
MOST_CLAIMS = 200

#: Why a task is given back while the database fails.
_AWAY = Text("the database failed")

#: The error of a task that was cancelled, without its message.
CANCELLED: Mapping[str, Any] = {"kind": "cancelled", "code": "ENG314", "names": []}

Hosts = Callable[[Mapping[str, Any]], HostPort]


def no_step(name: str, key: str) -> None:
    """For workers that nobody watches."""


def no_event(event: Mapping[str, Any]) -> None:
    """For tasks that nobody watches here."""


class TaskRunner:
    """``hosts`` makes effects hosts out of their settings, by default those of this process; ``step`` is for tests
    (`vetro.engine.worker.worker`).

    ``events`` is called with what the tasks report, as they report it. ``timeout``: seconds after which a task is
    cancelled, in place of setting ``worker.timeout``.
    """

    def __init__(
        self,
        config: Config,
        launcher: ProcessLauncher,
        hosts: Hosts | None = None,
        step: Step = no_step,
        events: Callable[[Mapping[str, Any]], None] = no_event,
        timeout: float | None = None,
    ) -> None:
        self._config = config
        self._timeout = config["worker.timeout"] if timeout is None else timeout
        self._launcher = launcher
        self._hosts = hosts or effect_hosts.host
        self._step = step
        self._events = events
        self._lock = threading.RLock()  # handlers of signals cancel, in the thread that runs
        self._running: dict[Lease, Worker | Batch] = {}
        #: Since when each lease is known to be ours (`vetro.engine.host.heartbeat.moment`).
        self._held: dict[Lease, float] = {}
        self._lost: set[Lease] = set()
        #: What failed last around a task.
        self.last_failure = ""
        #: The folder of the heartbeats of leases (`vetro.engine.host.heartbeat`); None: they are never renewed.
        self.heartbeat_folder: Path | None = None
        #: The packages that tasks have used.
        self.compilation = Compilation()
        self._heartbeats: dict[Lease, Path] = {}

    def running(self) -> list[str]:
        """Ids of the tasks that run now."""
        with self._lock:
            return [lease.task_id for lease in self._running]

    def batches(self) -> int:
        """How many of them are of kinds that take half of the places at most."""
        with self._lock:
            return sum(isinstance(worker, Batch) for worker in self._running.values())

    def held(self) -> list[Lease]:
        """Leases of the tasks that are being worked on: what is to be renewed."""
        with self._lock:
            return list(self._held)

    def lose(self, leases: Collection[Lease]) -> None:
        """Others work on these tasks. What runs for them here ends at once: its hosts would take away answers of agents
        that the others wait for, and a task that only waits would not notice for hours."""
        with self._lock:
            self._lost.update(lease for lease in leases if lease in self._held)
            for lease in self._lost:
                self._end_heartbeat(lease)
            workers = [self._running[lease] for lease in self._lost if lease in self._running]
        for worker in workers:
            worker.wake.set()

    def beat(self, leases: Collection[Lease], at: float) -> None:
        """These leases were renewed at the moment ``at``: effects hosts go by it. Raises `OSError`."""
        with self._lock:
            if self.heartbeat_folder is not None:  # who takes us for dead removes it
                self.heartbeat_folder.mkdir(mode=0o700, exist_ok=True)
            for lease in leases:
                if lease in self._held and lease not in self._lost:
                    self._held[lease] = at
                    if lease in self._heartbeats:
                        heartbeat.beat(self._heartbeats[lease], at)

    def _begin_heartbeat(self, lease: Lease, folder: Path) -> Path:
        """The file of its heartbeat; of one that was lost meanwhile there is none. Raises `OSError`."""
        with self._lock:
            path = folder / f"{lease.task_id}-{lease.fence}"
            if lease not in self._lost:
                heartbeat.beat(path, self._held[lease])
                self._heartbeats[lease] = path
            return path

    def _end_heartbeat(self, lease: Lease) -> None:
        """From now on its host leaves answers to whoever is next."""
        with self._lock:
            path = self._heartbeats.pop(lease, None)
        if path is not None:
            path.unlink(missing_ok=True)

    def cancel(self, reason: str) -> None:
        """Cancels all tasks that run here. May be called by a handler of a signal."""
        with self._lock:
            workers = list(self._running.values())
        for worker in workers:
            worker.cancel(reason)

    def look_for_cancels(self) -> None:
        """Cancels the running tasks that somebody wants to end."""
        ids = self.running()
        if not ids:
            return
        try:
            found = list(Task.objects.filter(id__in=ids).exclude(cancel="").values_list("id", "cancel"))
        except DatabaseFailed as error:  # a worker outlives its database: the next look finds them
            _log.error("nobody knows what is to be cancelled, the database failed: %s", error)
            connections.close_all()
            return
        for id, reason in found:
            with self._lock:
                workers = [worker for lease, worker in self._running.items() if lease.task_id == id]
            for worker in workers:
                worker.cancel(reason)

    def run(self, lease: Lease) -> Outcome | None:
        """Runs a task; None when it was given back, or taken by another worker."""
        with self._lock:
            self._held[lease] = heartbeat.moment()
        try:
            return self._run(lease)
        finally:
            with self._lock:
                del self._held[lease]
                self._lost.discard(lease)

    def _run(self, lease: Lease) -> Outcome | None:
        ending = Ending()
        try:
            try:
                outcome = self._outcome(lease, ending)
                return self._finish(lease, outcome, ending)
            except KeysUnusable as error:
                return self._unreadable(lease, error)
        except LeaseLost as error:
            _log.warning("task %s: %s", lease.task_id, error.message)
        except DatabaseFailed as error:
            _log.error("task %s is given back, the database failed: %s", lease.task_id, error)
            self._give_back(lease)
        finally:
            ending.close()
        return None

    def _finish(self, lease: Lease, outcome: Outcome, ending: Ending) -> Outcome:
        """Writes the end. What cannot be written is tried again a few times, as all that fails around a task."""
        try:
            finish(partial(lease.held, ending.task), outcome, ending.methods, ending.journal)
        except Exception as error:
            if _outage(error):
                raise
            refused = error
        else:
            ending.stored()
            return outcome
        self._keep_journal(ending)
        task = Task.objects.get(id=lease.task_id)
        failed = self._internal_failure(task, DbJournal(task.id, lease.hold), lease, refused)
        try:
            finish(lease.held, failed)
        except Exception as error:
            if _outage(error):
                raise
            _log.exception("task %s: its end cannot be written", task.id)
            break_off(task.id, failed, lease.hold)
        return failed

    def _keep_journal(self, ending: Ending) -> None:
        """What the task did and said is kept, though nothing that follows from it can be written."""
        try:
            if ending.journal is not None:
                ending.journal.commit()
        except DatabaseFailed as error:
            if _outage(error):
                raise

    def _outcome(self, lease: Lease, ending: Ending) -> Outcome:
        task = with_journal(lease.task_id)
        if task.kind == "plan" and task.attempts > 1:
            task = with_new_journal(task.id, lease.hold)  # what it recorded is gone with its worker's folder
        ending.task, journal = task, DbJournal(task.id, lease.hold, task)
        ending.journal = journal
        try:
            if task.attempts > MOST_CLAIMS:
                return _failed(
                    journal,
                    BegunTooOften(Text("the task was begun {attempts} times without an end", attempts=task.attempts)),
                )
            if task.engine != engine_version():
                self._adopt(task, lease)
            outcome = self._perform(task, lease, journal, ending)
            if task.kind == "destroy" and outcome.state == "done":
                spec.forget_environment(self._config, task)
            return outcome
        except LeaseLost:
            raise
        except DatabaseFailed as error:
            if _outage(error):
                raise
            return self._internal_failure(task, journal, lease, error)
        except (OtherEngine, OtherTask) as error:
            return _failed(journal, error)
        except Exception as error:
            return self._internal_failure(task, journal, lease, error)

    def _adopt(self, task: Task, lease: Lease) -> None:
        """Takes over a task that another version of the engine claimed first. Raises `OtherEngine` if it began it, and
        did not come to the end: that can be told by any."""
        journal = JournalTask.objects.filter(task_id=task.id).first()
        begun = None if journal is None else journal.engine
        if journal is None:
            lease.hold(engine=engine_version())
        elif begun != engine_version() and not _over(journal):
            seconds = self._config["worker.version_wait"]
            raise OtherEngine(
                Text(
                    "the task was begun by version {begun}, of which no worker came for {seconds:g} "
                    "s; this worker has version {engine_version} and cannot go on with it",
                    begun=begun,
                    seconds=seconds,
                    engine_version=engine_version(),
                )
            )

    def _work(self, task: Task, lease: Lease) -> Outcome:
        """Has an app do what it enqueued."""
        batch = Batch(lambda: lease in self._lost)
        if task.cancel:
            batch.cancel(task.cancel)
        with self._lock:
            self._running[lease] = batch
        try:
            (outcome,) = hooks.works(hooks.Work(self._config, task, batch.stopped))
        finally:
            with self._lock:
                del self._running[lease]
        lease.hold()
        return outcome

    def _perform(self, task: Task, lease: Lease, journal: DbJournal, ending: Ending) -> Outcome:
        if task.kind in Task.BATCHES:
            return self._work(task, lease)

        def heard(event: Mapping[str, Any]) -> None:
            if event["event"] == "spans" and isinstance(event["spans"], list):
                ending.methods.extend(event["spans"][:MOST_SPANS])
            elif event["event"] == "progress" and "report" in event:
                output.report(event["key"], event["report"])  # told again when the task is begun again
            elif event["event"] == "progress" and "output" in event:
                output.add(event["key"], event["output"])
            elif event["event"] == "progress" and "waits" in event:
                event = {**event, "waits": waits.store(event["waits"])}
            elif event["event"] == "restarted" and event["what"] == "host":
                waits.store([])  # the new one has told nothing yet
            self._events(event)

        output, waits = OutputLog(task, lease.hold), WaitLog(task, lease, journal)
        engine_task = spec.engine_task(task)
        self.compilation.used([package["digest"] for package in spec.packages_of(task)])
        with self._host(task, lease) as (host, folder):
            worker = Worker(
                engine_task,
                journal,
                self._launcher,
                host,
                heard,
                engine=engine_version(),
                limits=WorkerLimits(
                    timeout=self._timeout or None,
                    notes=self._config["task.reports"],
                    note_characters=self._config["task.report_mib"] << 20,
                    effects=self._config["task.effects"],
                ),
                policies=Policies(plugins=spec.plugins(self._config)),
                still_mine=lambda: lease not in self._lost,
                step=self._step,
                spans=traces.enabled(),
                reports=False,  # people read them in rows of their own
                host_first=task.kind == "plan",
                leaves_end=True,
            )
            ending.stored = worker.end_is_stored
            if task.cancel:
                worker.cancel(task.cancel)
            with self._lock:
                self._running[lease] = worker
            try:
                outcome = worker.run()
            finally:
                with self._lock:
                    del self._running[lease]
            if task.kind == "plan" and outcome.state in ("done", "failed"):
                from vetro.server.tasks.plan import result

                return result(task, outcome, journal, self._config, folder)
            return outcome

    @contextmanager
    def _host(self, task: Task, lease: Lease) -> Iterator[tuple[HostPort, str]]:
        """The host of a task, and the folder in which a plan is recorded."""
        if task.kind != "plan":
            late = effect_hosts.LateHost(partial(self._made_host, task, lease))
            try:
                yield late, ""
            finally:
                late.stop()
                self._end_heartbeat(lease)
            return
        from vetro.server.tasks.plan import host_config, scratch

        with scratch(wakeup.folder(self._config.data)) as folder:
            host = self._hosts(host_config(self._config, task, folder))
            try:
                yield host, folder
            finally:
                host.stop()

    def _made_host(self, task: Task, lease: Lease) -> HostPort:
        config = spec.host_config(self._config, task)
        if self.heartbeat_folder is not None:
            path = self._begin_heartbeat(lease, self.heartbeat_folder)
            config["heartbeat"] = {"path": str(path), "seconds": lease.seconds}
        return self._hosts(config)

    def _internal_failure(self, task: Task, journal: DbJournal, lease: Lease, error: Exception) -> Outcome:
        """Something around the task failed: it is given back, or, after some times, ended."""
        journal.close()
        known = error if isinstance(error, VetroError) else None
        message = known.message if known else _said(error)
        self.last_failure = message
        _log.error("task %s: internal failure: %s", task.id, message, exc_info=None if known else error)
        lease.hold(failures=F("failures") + 1)
        reason = Task.objects.values_list("cancel", flat=True).get(id=task.id)
        if reason:  # nobody wants it to be tried again
            told = {**CANCELLED, "message": f"the task was cancelled ({reason}) while it could not go on: {message}"}
            return Outcome("cancelled", model=journal.model(), error=told)
        passing = known is None or isinstance(error, (LauncherError, HostUnavailable, Unavailable, KeysUnusable))
        if passing and task.failures + 1 < MOST_FAILURES:
            self._give_back(lease, PAUSES[min(task.failures, len(PAUSES) - 1)], why=message)
            raise LeaseLost(Text("it is tried again later"))
        return _failed(journal, known or InternalFailure(message))

    def _unreadable(self, lease: Lease, error: KeysUnusable) -> Outcome | None:
        """No key opens what the task is: it is tried again, perhaps by a worker that has the key, or ended."""
        _log.error("task %s cannot be read: %s", lease.task_id, error.message)
        failures = Task.objects.values_list("failures", flat=True).get(id=lease.task_id)
        lease.hold(failures=F("failures") + 1)
        if failures + 1 < MOST_FAILURES:
            self._give_back(lease, PAUSES[min(failures, len(PAUSES) - 1)], why=error.message)
            return None
        failed = Outcome("failed", error=_told(error))
        break_off(lease.task_id, failed, lease.hold)
        return failed

    def _give_back(self, lease: Lease, pause: float | None = None, why: str = _AWAY) -> None:
        """``pause``: None while the database fails, then it follows from how often the task was begun."""
        try:
            for connection in connections.all(initialized_only=True):
                if connection.errors_occurred and not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()  # it was lost; the next one may be had at once
            if pause is None:
                begun = Task.objects.filter(id=lease.task_id).values_list("attempts", flat=True).first()
                pause = outage_pause(begun or 0)
            release(lease.owner, lease=lease, pause=pause, why=why)
        except DatabaseFailed:
            pass  # the lease lapses


def outage_pause(attempts: int) -> float:
    """Seconds until a task that was begun so often is begun again after the database failed: 1; from the twentieth time
    on 2, 4, … `MOST_PAUSE`.

    A database may take claims and no more (a disk that is nearly full): `MOST_CLAIMS` have to last. Deaths of workers
    are among the first ones: whoever lived through some need not wait longer for a database that was restarted.
    """
    return float(min(MOST_PAUSE, 2.0 ** min(max(attempts - _QUICK, 0), 10)))


def _over(journal: JournalTask) -> bool:
    """Whether the end of a task is in its journal, and only its row does not say so."""
    return journal.ended is not None and journal.ended.get("state") != Task.NEEDS_PERSON


def _outage(error: Exception) -> bool:
    """Whether it is the lease or the database that is not there, and not what was to be written."""
    if isinstance(error, LeaseLost):
        return True
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return (
        isinstance(error, DatabaseFailed)
        and not isinstance(error, DataError | IntegrityError)
        and not state.startswith(_REFUSED)
    )


def _said(error: Exception) -> str:
    """An error for people. Of a database only the first line: the others quote what was to be written."""
    if not isinstance(error, DatabaseFailed):
        return f"{type(error).__name__}: {error}"
    line = str(error).partition("\n")[0].replace("\0", "")
    return f"the database refuses what the task is to leave: {type(error).__name__}: {line}"


def _failed(journal: DbJournal, error: VetroError) -> Outcome:
    """The end of a task that cannot be run: what it had is kept."""
    return Outcome("failed", model=journal.model(), error=_told(error))


def _told(error: VetroError) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": "error",
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "names": [],
    }
    return encode_messages(told)  # type: ignore[no-any-return]
