"""Runs tasks in a worker process of their own that can be killed at any step, with host and task process below it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.world import World, WorldChannel, WorldCloud
from tests.support.file_journal import FileJournal
from vetro.clouds.interface import Owner
from vetro.engine.effect_kinds import Policy
from vetro.engine.host.answer import Effect
from vetro.engine.host.frame_server import Service
from vetro.engine.host.performer import EffectsHost
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.engine.worker.ports import Policies
from vetro.engine.worker.state import WorkerLimits
from vetro.engine.worker.worker import Worker

OWNER = Owner("p", "1")
#: A kind that only a person can judge, and one that a plug-in could bring.
UNSAFE = {"test.unsafe": Policy.UNSAFE, "test.convergent": Policy.CONVERGENT}

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.faults
Name: Faults
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.App: App.yaml
"""


def package(folder: Path, methods: str, properties: str = "", base: str = "std:Object") -> str:
    """Writes a package with class test.App; ``methods`` and ``properties`` are YAML. Its path."""
    (folder / "Classes").mkdir(parents=True, exist_ok=True)
    (folder / "manifest.yaml").write_text(MANIFEST)
    text = "Name: App\nNamespaces:\n  =: test\n  std: io.murano\n" + f"Extends: {base}\n"
    for head, body in (("Properties", properties), ("Methods", methods)):
        if body:
            text += f"{head}:\n" + "".join(f"  {line}\n" for line in body.splitlines())
    (folder / "Classes" / "App.yaml").write_text(text)
    return str(folder)


def model(**properties: Any) -> dict[str, Any]:
    """A start model with one test.App."""
    return {"Objects": {"?": {"id": "1", "type": "test.App"}, **properties}, "ObjectsCopy": None, "Attributes": []}


def make_host(folder: Path, **options: Any) -> EffectsHost:
    """An effects host over the world in ``folder``; a file ``crash`` there ends its process after its next deed."""
    path = folder / "world.db"
    world, cloud, channel = World(path), WorldCloud(path), WorldChannel(path)

    def crash() -> None:
        if (folder / "crash").exists():
            (folder / "crash").unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def perform(kind: str, args: Mapping[str, Any]) -> str:
        world.did(kind, str(args.get("name")))
        crash()
        return "made"

    effects = {kind: Effect(partial(perform, kind), policy) for kind, policy in UNSAFE.items()}
    cloud.crash = channel.crash = crash
    return EffectsHost(cloud, channel, OWNER, effects=effects, **{"snapshots": True, **options})


class ForkedHost:
    """An effects host in a process that is forked, not started anew: quick enough for hundreds of kills."""

    def __init__(self, folder: Path, make: Callable[[Path], EffectsHost] = make_host) -> None:
        self._folder = folder
        self._make = make
        self._ours: socket.socket | None = None
        self.pid = 0

    def start(self) -> None:
        self.stop()
        self._ours, theirs = socket.socketpair()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._ours.close()
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)
                if os.getppid() == parent:
                    Service(theirs.fileno(), self._make(self._folder)).run()
            finally:
                os._exit(0)
        theirs.close()

    def fileno(self) -> int:
        assert self._ours is not None
        return self._ours.fileno()

    def kill(self) -> None:
        """The host dies; nothing when it does not run."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        if self._ours is not None:
            self._ours.close()
            self._ours = None
            os.waitpid(self.pid, 0)
            self.pid = 0


class Watched:
    """A launcher that remembers its process, for those who kill it."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self.process: Any = None

    def start(self) -> Any:
        self.process = self._launcher.start()
        return self.process


class Case:
    """One task in one folder, run by as many workers as it takes."""

    def __init__(
        self, launcher: Launcher, folder: Path, task: Task, make: Callable[[Path], EffectsHost] = make_host
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.launcher = launcher
        self.folder = folder
        self.task = task
        self.make = make
        self.world = World(folder / "world.db")

    def journal(self) -> FileJournal:
        return FileJournal(self.folder / "journal.db", self.task.id)

    def work(
        self,
        victim: str = "worker",
        at: Callable[[int, str, str], bool] = lambda number, name, key: False,
        **limits: Any,
    ) -> dict[str, Any] | None:
        """Runs a worker process; ``at(number, step, key)`` says when ``victim`` is killed, once.

        What the worker has to say: its outcome and the steps it made; None when it was killed.
        """
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reader)
                said = self._child(victim, at, limits)
                with os.fdopen(writer, "w") as file:
                    json.dump(said, file)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as file:
            text = file.read()
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            return None
        assert status == 0, "the worker failed, see its standard error"
        found: dict[str, Any] = json.loads(text)
        return found

    def _child(self, victim: str, at: Callable[[int, str, str], bool], limits: Mapping[str, Any]) -> dict[str, Any]:
        steps: list[tuple[str, str]] = []
        host, launcher = ForkedHost(self.folder, self.make), Watched(self.launcher)
        killed = False

        def step(name: str, key: str) -> None:
            nonlocal killed
            steps.append((name, key))
            if not killed and at(len(steps) - 1, name, key):
                killed = True
                if victim == "worker":
                    os.kill(os.getpid(), signal.SIGKILL)
                elif victim == "host" and host.pid:
                    host.kill()
                elif victim == "task" and launcher.process is not None:
                    launcher.process.kill()

        journal = self.journal()
        worker = Worker(
            *(self.task, journal, launcher, host),
            step=step,
            policies=Policies(UNSAFE),
            limits=WorkerLimits(**{"host_deaths": 3, **limits}),
        )
        outcome = worker.run()
        journal.close()
        return {
            "state": outcome.state,
            "model": outcome.model,
            "result": outcome.result,
            "error": outcome.error,
            "reports": list(outcome.reports),
            "open": [[e.key, e.kind] for e in outcome.open],
            "steps": steps,
        }
