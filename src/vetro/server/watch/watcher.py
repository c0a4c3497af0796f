"""`Watcher`: the thread of a worker that has its environments watched, where this worker is the first that can.

Of the workers that live the one that joined first watches, for each label those that have it (`vetro.server.tasks.
labels`); so their rows and beats, which tasks are claimed by, say who it is, and a dead one is followed by the next.
Two that watch for a moment do no harm: what is written follows from what was there before, and from the version.

A worker that was just started starts once what should run and does not (`vetro.server.watch.recovery`).

The work itself is done by a process without database (`vetro.engine.watching.process`); this thread tells it what there
is to watch, writes what it says, and until when everything else is to be believed. When it says nothing, nobody
believes anything any more.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.db import Error as DatabaseFailed
from django.db import InterfaceError, OperationalError, connections

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.task.launcher import Launcher
from vetro.engine.worker.ports import HostPort, HostUnavailable
from vetro.frames import Decoder, FrameError, encode
from vetro.server.config.cloud_settings import simulated
from vetro.server.config.config import Config
from vetro.server.environments import power
from vetro.server.environments.models import Environment
from vetro.server.ids import new_id
from vetro.server.tasks import clock, effect_hosts, labels
from vetro.server.tasks.member import Member
from vetro.server.tasks.models import WorkerProcess
from vetro.server.watch import drift, kind_backfill, metrics, recovery, repair, service
from vetro.server.watch.prober import Prober
from vetro.server.watch.target_reader import TargetReader
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")

#: Of an environment: version, label, servers that were stopped.
_Seen = tuple[int, str, frozenset[str]]
#: Seconds between two looks at who watches, at what there is to watch, and between two notes that all is as before.
LEAD, TARGETS, MARK = 5.0, 3.0, 10.0
#: Seconds after which a process that says nothing is started again.
SILENT = 20.0
#: Seconds for which states are collected before they are written.
_COLLECT = 1.0
#: Leases without a beat after which a worker does not watch any more.
_LEASES = 2
#: Environments that are taken up, started or repaired in one round, and seconds until one is tried again that could not
#: be taken.
_AT_ONCE, _AGAIN = 50, 60.0
#: Seconds beyond the leases of who watched before within which a worker that was started starts what should run, and
#: until that is tried again where something is in the way.
_STARTING, _LATER = 60.0, 10.0
#: Seconds for which environments are taken up in one round; one more begins within them.
_READ = 5.0


class Watcher:
    """``hosts`` makes the process out of its settings; ``launcher`` makes processes that read packages."""

    def __init__(
        self,
        config: Config,
        member: Member,
        launcher: Launcher,
        hosts: Callable[[Mapping[str, Any]], HostPort] = effect_hosts.host,
    ) -> None:
        self._config = config
        self._member = member
        self._hosts = hosts
        self._reader = TargetReader(config, launcher)
        self._prober = Prober(config, launcher, hosts)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vetro watcher", daemon=True)
        self._process: HostPort | None = None
        self._decoder = Decoder()
        self._heard = 0.0
        #: Environments that are watched: id -> (version, label, servers that were stopped).
        self._watched: dict[str, _Seen] = {}
        #: Those that could not be taken, and when they are tried again.
        self._later: dict[str, float] = {}
        #: What is told is believed by this: each process has one, so nothing of the one before is ever renewed.
        self._mark = new_id()
        self._told: dict[str, tuple[int, dict[str, Any]]] = {}
        #: What clouds were found to have, still to be written.
        self._listed: dict[str, Mapping[str, Any]] = {}
        self._clouds: set[str] = set()
        self._metrics = metrics.Pending()
        self._led: set[str] | None = None
        self._begun = time.monotonic()
        #: Environments that were there when this worker began to watch and that nobody has looked at since.
        self._first: set[str] | None = None
        #: Of those the ones of which something does not run: when it is tried to start it, and the servers (ids).
        self._off: dict[str, tuple[float, Collection[str]]] = {}
        #: Environments that are repaired without being asked where that is needed: when it is looked at.
        self._repairs: dict[str, float] = {}
        self._next = dict.fromkeys(("lead", "targets", "mark", "write", "metrics", "drift"), 0.0)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it and its process."""
        self._over.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                try:
                    self._round()
                except DatabaseFailed as error:  # the next round tries again
                    _log.warning("nobody can say how environments are, the database failed: %s", error)
                    connections.close_all()
                    self._over.wait(LEAD)
                except (VetroError, OSError) as error:
                    _log.warning("environments are not watched for now: %s", error)
                    self._end()
                    self._over.wait(LEAD)
                except Exception:
                    _log.exception("a defect of the watcher")
                    self._end()
                    self._over.wait(LEAD)
        finally:
            self._end()
            connections.close_all()

    def _round(self) -> None:
        if self._due("lead", LEAD):
            led = leads(self._config, self._member)
            if led != self._led:
                self._led = led
                self._end()
        if not self._led:
            self._over.wait(1.0)
            return
        if self._due("targets", TARGETS):
            self._follow(self._led)
        if self._process is None:
            self._over.wait(1.0)
        else:
            self._listen(0.5)
            if time.monotonic() - self._heard > SILENT:
                raise HostUnavailable("the process that watches says nothing")
            self._start()
            for answer in self._prober.answers():
                self._send({"t": "answers", **answer})
            if self._due("metrics", metrics.TURN):
                self._metrics.write()
            if self._told and self._due("write", _COLLECT):
                self._write()
            if self._listed and self._process is not None and self._due("drift", _COLLECT):
                listed, self._listed = self._listed, {}
                drift.note(listed.values())
                told = repair.automatic([id for id, item in listed.items() if "trouble" not in item])
                self._repairs |= dict.fromkeys(told, 0.0)
            self._repair()
            # Nothing is believed on while something cannot be written.
            if self._process is not None and not self._told and self._due("mark", MARK):
                service.believe([self._mark], self._member.id, service.BELIEVED)

    def _due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if self._next[what] > now:
            return False
        self._next[what] = now + every
        return True

    # -- what there is to watch ----------------------------------------------------------------------------------------

    def _follow(self, led: set[str]) -> None:
        at_work = service.at_work()  # first: what a task has changed when it is not among these is in the rows
        rows = Environment.objects.filter(version__gt=0).values_list("id", "version", "region", "stopped")
        there: dict[str, _Seen] = {
            id: (version, label, frozenset(power.on_purpose(stopped)))
            for id, version, region, stopped in rows
            if (label := labels.label_of(self._config, "", _Region(region))) in led
        }
        now = time.monotonic()
        if self._first is None:  # who follows on another worker starts nothing
            starting = _STARTING + _LEASES * float(self._config["worker.lease_seconds"])
            self._first = set(there) if now - self._begun < starting else set()
        self._later = {id: at for id, at in self._later.items() if id in there and at > now}
        gone = [id for id in self._watched if id not in there]
        # What a task works on changes under the watcher's eyes: it is looked at again when the task has ended.
        resting = [id for id in at_work if id in self._watched and self._watched[id][0] >= 0]
        self._rest(*gone, *resting)
        for id in gone:
            del self._watched[id]
        taken = 0
        for id, seen in there.items():
            if id in at_work or id in self._later:
                continue
            if self._watched.get(id) == seen and id not in self._reader.unread:
                continue
            # What was told before has to be believed on meanwhile, however long packages take to be read.
            if taken == _AT_ONCE or time.monotonic() - now > _READ:
                self._next["targets"] = 0.0
                break
            taken += 1
            row = Environment.objects.filter(id=id, version=seen[0]).first()
            if row is not None:
                self._take(row, seen[1])

    def _take(self, row: Environment, label: str) -> None:
        self._watched[row.id] = (row.version, label, frozenset(power.on_purpose(row.stopped)))
        try:
            messages = self._messages(row)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:  # whatever one environment holds, the others are watched on
            known = isinstance(error, VetroError)
            _log.warning("environment %s cannot be watched: %s", row.id, error, exc_info=not known)
            self._give_up(row.id, Text("what there is to watch cannot be read"))
            return
        if row.id in self._reader.unread:
            self._later[row.id] = time.monotonic() + _AGAIN
        for message in messages:
            self._send(message)

    def _messages(self, row: Environment) -> list[dict[str, Any]]:
        """What the process is told of an environment."""
        if simulated(self._config, row.cloud):
            service.retarget(row.id, self._mark, ())
            return []
        found = self._reader.components(row)
        if kind_backfill.keep_kind(self._config, row, {id for component in found for id in component.servers}):
            service.retarget(row.id, self._mark, ())
            return []
        known = service.retarget(row.id, self._mark, [component.id for component in found])
        key, settings = self._reader.cloud(row)
        put = {"t": "put", "environment": self._reader.target(row, found, key, known)}
        encode(put)  # what cannot be sent is this environment's trouble
        if key in self._clouds:
            return [put]
        self._clouds.add(key)
        return [{"t": "cloud", "key": key, "settings": settings}, put]

    def _give_up(self, id: str, text: str) -> None:
        """Leaves an environment out for a while: nobody knows how it is."""
        service.nobody_knows(id, self._mark, text)
        self._rest(id)
        self._later[id] = time.monotonic() + _AGAIN

    def _rest(self, *ids: str) -> None:
        """These are looked at anew, when there is nothing against it."""
        if ids:
            self._prober.give_up(ids)
            self._send({"t": "drop", "ids": list(ids)})
        for id in ids:
            self._told.pop(id, None)
            if id in self._watched:
                self._watched[id] = (-1, *self._watched[id][1:])

    # -- the process ---------------------------------------------------------------------------------------------------

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._process is None:
            if message["t"] == "drop":
                return
            self._process = self._hosts({"watch": True})
            self._process.start()
            self._decoder, self._heard = Decoder(), time.monotonic()
        data = memoryview(encode(dict(message)))
        with socket.socket(fileno=_duplicate(self._process.fileno())) as connection:
            connection.settimeout(SILENT)
            connection.sendall(data)

    def _listen(self, seconds: float) -> None:
        assert self._process is not None
        number = self._process.fileno()
        if not select.select([number], [], [], seconds)[0]:
            return
        with socket.socket(fileno=_duplicate(number)) as connection:
            data = connection.recv(1 << 20)
        if not data:
            raise HostUnavailable("the process that watches has ended")
        try:
            messages = self._decoder.feed(data)
        except FrameError as error:
            raise HostUnavailable(error.message) from error
        self._heard = time.monotonic()
        for message in messages:
            for item in message["environments"] if message["t"] == "metrics" else ():
                if item["id"] in self._watched:
                    self._metrics.add(item["id"], item["at"], item["servers"])
            for item in message["environments"] if message["t"] == "questions" else ():
                self._prober.begin(item)
            for item in message["environments"] if message["t"] == "contents" else ():
                if item["id"] in self._watched and self._watched[item["id"]][0] == item["number"]:
                    self._listed[item["id"]] = item
            for item in message["environments"] if message["t"] == "changes" else ():
                if item["id"] not in self._watched or self._watched[item["id"]][0] != item["number"]:
                    continue  # a task works on it, or has
                if item["id"] in self._off or (self._first and item["id"] in self._first):
                    # No database here: what was read is not said again.
                    self._off[item["id"]] = (0.0, item.get("off") or ())
                number, kept = self._told.get(item["id"], (item["number"], {}))
                if number != item["number"]:
                    kept = {}
                kept.update({component["id"]: component for component in item["components"]})
                self._told[item["id"]] = (item["number"], kept)

    def _start(self) -> None:
        """Has what should run be started, each environment once, as soon as nothing is in the way."""
        now = time.monotonic()
        for id in [id for id, (at, _) in self._off.items() if at <= now][:_AT_ONCE]:
            _, servers = self._off.pop(id)
            try:
                begun = bool(servers) and recovery.start(self._config, id, servers)
            except DatabaseFailed:
                self._off[id] = (0.0, servers)
                raise
            if begun is None:
                self._off[id] = (time.monotonic() + _LATER, servers)
                continue
            if self._first is not None:
                self._first.discard(id)
            if begun:
                self._told.pop(id, None)  # nobody is told that it is down

    def _repair(self) -> None:
        """Looks at what is to be repaired, some of it: however many went down, the others are watched meanwhile."""
        now = time.monotonic()
        ids = [id for id, at in self._repairs.items() if at <= now][:_AT_ONCE]
        waiting = repair.unasked(ids) if ids else ()
        for id in ids:
            del self._repairs[id]
        self._repairs |= dict.fromkeys(waiting, now + _LATER)

    def _write(self) -> None:
        if leads(self._config, self._member) != self._led:  # somebody else does it now, or will begin anew
            self._end()
            return
        stopped = dict(Environment.objects.filter(id__in=list(self._told)).values_list("id", "stopped"))
        # Seen by somebody who did not know what was stopped on purpose.
        known = {id: frozenset(power.on_purpose(notes)) for id, notes in stopped.items()}
        self._rest(*(id for id in list(self._told) if known.get(id, frozenset()) != self._watched[id][2]))
        told = self._told.items()
        reports = [(id, number, self._reader.told(id, items.values())) for id, (number, items) in told]
        found = service.record(reports, self._mark)
        self._told = {}
        self._rest(*found.dropped)
        for id in found.refused:
            self._give_up(id, Text("its health cannot be written"))

    def _end(self) -> None:
        self._prober.give_up()
        process, self._process = self._process, None
        self._watched, self._told, self._clouds, self._later, self._listed = {}, {}, set(), {}, {}
        self._repairs = {}
        self._mark = new_id()
        self._next = dict.fromkeys(self._next, 0.0)
        if process is not None:
            process.kill()


def leads(config: Config, member: Member) -> set[str]:
    """The labels of environments that this worker watches: of the workers that live it is the first to serve them."""
    heard = clock.after(-_LEASES * float(config["worker.lease_seconds"]))
    living = WorkerProcess.objects.filter(seen__gte=heard, draining=False).order_by("started", "id")
    workers = list(living.values_list("id", "labels"))
    if all(id != member.id for id, _ in workers):
        return set()
    wanted = {""}.union(*(found for _, found in workers))
    regions = Environment.objects.filter(version__gt=0).order_by().values_list("region", flat=True).distinct()
    wanted |= {labels.label_of(config, "", _Region(region)) for region in regions}
    return {
        label for label in wanted if next((id for id, own in workers if labels.serves(own, label)), None) == member.id
    }


@dataclass(frozen=True, slots=True)
class _Region:
    """The region of environments, as `label_of` reads one."""

    region: str


def _duplicate(number: int) -> int:
    return os.dup(number)
