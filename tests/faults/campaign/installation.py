"""Servers and workers of the campaign: two machines with two workers each on PostgreSQL, or one machine on SQLite."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.faults.campaign.processes import Kept, below, children_of, command_of, reap, state_of

_ROOT = str(Path(__file__).parents[3])
#: Seconds that the servers may take to answer.
_START = 300.0
_VETRO = [sys.executable, "-m", "vetro.cli.main"]


class Machine:
    """One data directory, `vetro serve` with a worker of its own, and perhaps one more `vetro worker`."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str], *, worker: bool) -> None:
        self.name = name
        self.data = folder / name
        self.data.mkdir()
        self.ready = folder / f"{name}.ready"
        self.environment = {**environment, "VETRO_DATA": str(self.data)}
        serve = ["serve", "--port", "0", "--ready-file", str(self.ready)]
        self.serve = Kept(f"{name}: serve", self._command(*serve), self.environment, folder / f"{name}.log")
        self.kept = [self.serve]
        if worker:
            log = folder / f"{name}-worker.log"
            self.kept.append(Kept(f"{name}: worker", self._command("worker"), self.environment, log))

    def _command(self, *words: str) -> list[str]:
        """With a host name of its own, so that workers take it for another machine than its neighbour."""
        if os.geteuid() == 0 and shutil.which("unshare"):
            return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name, *_VETRO, *words]
        return [*_VETRO, *words]

    def address(self) -> str | None:
        """Host and port; None while it is not ready."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return str(json.loads(self.ready.read_text())["url"]).removeprefix("http://")
        return None


class Installation:
    """All processes of the service; a thread of its own keeps them."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, machines: int, workers: bool) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [_ROOT, environment.get("PYTHONPATH", "")]))
        environment.update(
            VETRO_STORAGE__BLOBS=str(folder / "blobs"),
            VETRO_SECRETS__KEY_FILE=str(folder / "keys"),
            VETRO_ENGINE__SIGNING_KEY=str(folder / "signing-key.pem"),
            **settings,
        )
        self.folder = folder
        names = [f"vetro{number + 1}" for number in range(machines)]
        self.machines = [Machine(name, folder, environment, worker=workers) for name in names]
        self._over = threading.Event()
        #: Other children of this program.
        self.others: Callable[[], set[int]] = set
        self._thread = threading.Thread(target=self._keep, name="systemd", daemon=True)
        self._started = threading.Event()

    @property
    def kept(self) -> list[Kept]:
        """What is started again when it ends."""
        return [kept for machine in self.machines for kept in machine.kept]

    def start(self) -> None:
        """Starts all; the first machine makes the database. Raises `RuntimeError`."""
        done = self.command("db", "migrate")
        if done.returncode:
            raise RuntimeError(f"vetro db migrate failed: {done.stderr}")
        self._thread.start()
        until = time.monotonic() + _START
        while not all(machine.address() for machine in self.machines):
            if time.monotonic() > until:
                raise RuntimeError(f"the servers do not start, see {self.folder}")
            time.sleep(0.05)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`vetro` on the first machine."""
        machine = self.machines[0]
        return subprocess.run(
            [*_VETRO, *words], env=machine.environment, capture_output=True, text=True, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def _keep(self) -> None:
        """The kernel kills what this thread started when it ends."""
        for kept in self.kept:
            kept.start()
        while not self._over.wait(0.1):
            for kept in self.kept:
                kept.look()
            reap({kept.pid for kept in self.kept if kept.pid} | self.others())
        for kept in self.kept:
            kept.ask_to_stop()
        until = time.monotonic() + 60
        self.ends = {kept.name: kept.wait(max(until - time.monotonic(), 0.1)) for kept in self.kept}

    def processes(self) -> list[tuple[int, str]]:
        """Each process of the service with its kind, by process id."""
        return sorted(found for kept in self.kept if (pid := kept.pid) for found in below(pid))

    def stop(self) -> list[str]:
        """Ends all, as an operator does; what is left of it or went wrong."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        found = [f"{name} ended with {status}" for name, status in getattr(self, "ends", {}).items() if status != 0]
        until = time.monotonic() + 10
        while (left := self._left()) and time.monotonic() < until:
            time.sleep(0.1)
            reap(self.others())
        found += [f"process {pid} is left: {command_of(pid)}" for pid in left]
        for machine in self.machines:
            run = machine.data / "run"
            found += [f"{path} is left" for path in (run.iterdir() if run.is_dir() else ())]
        return found

    def _left(self) -> list[int]:
        known = {one for pid in self.others() for one, _ in below(pid)}
        return [
            pid
            for child in children_of(os.getpid())
            for pid, _ in below(child)
            if pid not in known and state_of(pid) not in ("", "Z")
        ]
