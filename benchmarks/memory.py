"""``python -m benchmarks.memory``: what each process of a service holds, and whether anything grows by deploying.

Starts `vetro serve` with one worker (SQLite, recording cloud), and deploys the same ``--environments`` again and
again, ``--deployments`` in all. Prints the proportional set size (what is shared counts in parts) of each kind of
process while a deployment runs: after the first tenth, and at the end; and how many files each has open then.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import trivial
from benchmarks.service.running import Running, service

_PATIENCE = 600.0
#: Kinds of processes, by what stands in their command, and whose children they are where that decides.
_KINDS = {
    "vetro.server.http.server": "HTTP",
    "vetro.server.http.large_process": "large requests",
    "vetro.cli.main": "worker",
    "vetro.engine.task.zygote": "zygote",
    "vetro.engine.host": "forker of hosts",
}
#: Of processes that are forked from one of their own kind.
_FORKED = {"zygote": "task", "forker of hosts": "effects host", "HTTP": "HTTP process"}
#: What was forked from a zygote and waits for its task.
_SPARE = "spare task"
#: Effects of the deployment that runs while it is measured: some seconds.
_PAUSES = 2000


@dataclass
class Held:
    """Of the processes of one kind: how many, MiB together, open files together."""

    processes: int = 0
    mib: float = 0.0
    files: int = 0


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--deployments", type=int, default=1000)
    parser.add_argument("--environments", type=int, default=20)
    options = parser.parse_args()
    os.environ["VETRO_CLOUD__DRIVER"] = "record"
    with service(workers=1) as running:
        deployments = Deployments(running, options.environments)
        deployments.deploy(max(options.deployments // 10, 1))
        before = deployments.held()
        begun = time.monotonic()
        deployments.deploy(options.deployments - options.deployments // 10)
        seconds = time.monotonic() - begun
        after = deployments.held()
    print("kind | processes | MiB after a tenth | MiB at the end | open files after a tenth | at the end")
    for kind, now in after.items():
        then = before.get(kind, Held())
        print(f"{kind} | {now.processes} | {then.mib:.1f} | {now.mib:.1f} | {then.files} | {now.files}")
    print(f"{options.deployments} deployments, the last nine tenths in {seconds:.0f} s")


class Deployments:
    """Deployments of a trivial application in a running service."""

    def __init__(self, running: Running, environments: int) -> None:
        self._running = running
        _publish(running, trivial.archive())
        self._ids = [self._environment(f"e{number}") for number in range(environments)]
        self._slow = self._environment("slow", pauses=_PAUSES)
        self._next = 0

    def _environment(self, name: str, **properties: Any) -> str:
        id = str(self._running.call("POST", "/v1/environments", {"name": name})["id"])
        app = {"?": {"type": "bench.Trivial", "id": f"app-{name}"}, "name": name, **properties}
        with self._session(id) as session:
            self._running.call("POST", f"/v1/environments/{id}/services", app, session=session)
        return id

    @contextmanager
    def _session(self, environment: str) -> Iterator[str]:
        """A draft that is deployed at the end."""
        session = self._running.call("POST", f"/v1/environments/{environment}/configure")["id"]
        yield session
        self._running.call("POST", f"/v1/environments/{environment}/sessions/{session}/deploy")

    def deploy(self, count: int) -> None:
        """So many, each environment again when it is ready. Raises RuntimeError where one fails or takes too long."""
        for _ in range(count):
            id = self._ids[self._next % len(self._ids)]
            self._next += 1
            self._wait(id)
            with self._session(id):
                pass
        for id in self._ids:
            self._wait(id)

    def _wait(self, id: str) -> None:
        until = time.monotonic() + _PATIENCE
        while (status := self._status(id)) == "deploying":
            if time.monotonic() > until:
                raise RuntimeError(f"environment {id} is deploying for {_PATIENCE:.0f} s")
            time.sleep(0.02)
        if status != "ready":
            raise RuntimeError(f"environment {id}: {status}")

    def _status(self, id: str) -> str:
        return str(self._running.call("GET", f"/v1/environments/{id}")["status"])

    def held(self) -> dict[str, Held]:
        """What each kind of process holds, while a deployment runs; of what waits for a task, until it begins."""
        self._wait(self._slow)
        spare = self._held_with(_SPARE)[_SPARE]
        with self._session(self._slow):
            pass
        found = self._held_with("task")
        time.sleep(0.5)  # it has loaded by then what it needs
        return {**(held(self._running.pid) or found), _SPARE: spare}

    def _held_with(self, kind: str) -> dict[str, Held]:
        """The same as soon as there is a process of this kind."""
        until = time.monotonic() + _PATIENCE
        while kind not in (found := held(self._running.pid)):
            if time.monotonic() > until:
                raise RuntimeError(f"there is no {kind}")
            time.sleep(0.2)
        return found


def _mib(pid: int) -> float:
    """The proportional set size of a process without SQLite's file: it is mapped up to 128 MiB, and grows with what was
    deployed, but is memory that the machine takes back when it wants it. Raises `OSError`."""
    total, counts = 0, True
    for line in Path(f"/proc/{pid}/smaps").read_text("utf-8", "replace").splitlines():
        if line.startswith("Pss:"):
            total += int(line.split()[1]) if counts else 0
        elif not line.partition(" ")[0].endswith(":"):  # the line that begins a mapping
            counts = ".db" not in line
    return total / 1024


def held(pid: int) -> dict[str, Held]:
    """What each kind of process below a service holds."""
    found: dict[str, Held] = {}
    todo = [(pid, "")]
    while todo:
        parent, above = todo.pop()
        for child in _children(parent):
            try:
                kind = _kind(Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8", "replace"), above)
                if kind == "task" and "\nSeccomp:\t2\n" not in Path(f"/proc/{child}/status").read_text("utf-8"):
                    kind = _SPARE  # it has no walls yet
                mib = _mib(child)
                files = len(os.listdir(f"/proc/{child}/fd"))
            except OSError:  # it has just ended
                continue
            one = found.setdefault(kind, Held())
            one.processes += 1
            one.mib += mib
            one.files += files
            todo.append((child, kind))
    return found


def _kind(command: str, above: str) -> str:
    known = [kind for name, kind in _KINDS.items() if name in command.split("\0")]
    kind = known[0] if known else "other"
    return _FORKED.get(kind, kind) if kind == above else kind


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _publish(running: Running, archive: bytes) -> None:
    mark = "vetro-bench"
    part = f'--{mark}\r\nContent-Disposition: form-data; name="{{}}"{{}}\r\n\r\n'
    body = (
        (part.format("__metadata__", "") + json.dumps({}) + "\r\n").encode()
        + (part.format("file", '; filename="package.zip"')).encode()
        + archive
        + f"\r\n--{mark}--\r\n".encode()
    )
    running.call("POST", "/v1/catalog/packages", body=body, kind=f"multipart/form-data; boundary={mark}")


if __name__ == "__main__":
    main()
