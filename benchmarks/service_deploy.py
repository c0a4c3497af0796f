"""Deployments through the service: from POST to success and to the first report, static actions, a queue of 200,
memory over as many as are asked for.

``python -m benchmarks.service_deploy`` starts one worker on a new data directory (SQLite, recording cloud; below
``script/with-postgresql`` on PostgreSQL) and prints one line for each figure. ``--queue`` measures nothing but the
queue, so many times: ordered while the worker works, and before it goes on, in turns. ``--memory 1000`` also measures
how much the worker grows until it has deployed so many.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import trivial

#: Seconds in which one deployment ends, however slow the machine; the whole queue has the second one.
_PATIENCE, _LONG_PATIENCE = 60.0, 600.0
#: Deployments of which memory is looked at before and after more of them, and how many wait at once meanwhile.
_FIRST, _AT_ONCE = 200, 100


def _prepare(data: Path) -> dict[str, str]:
    (data / "vetro.toml").write_text('[cloud]\ndriver = "record"\n', "utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    environ["VETRO_DATA"] = str(data)
    if url := os.environ.get("VETRO_DATABASE__URL"):
        environ["VETRO_DATABASE__URL"] = url
    return environ


def _worker(environ: dict[str, str]) -> subprocess.Popen[bytes]:
    code = (
        "from vetro.server.setup import setup; config = setup();"
        "from vetro.server.tasks.worker import main; raise SystemExit(main(config, ready=lambda: print(flush=True)))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


class Client(trivial.Client):
    """Also waits, as clients do."""

    def until_ready(self, environment: str) -> None:
        """Polls the environment as clients do, only faster."""
        until = time.monotonic() + _PATIENCE
        while (status := self.send("GET", f"/v1/environments/{environment}")["status"]) == "deploying":
            if time.monotonic() > until:
                raise SystemExit(f"the deployment of environment {environment} did not end")
            time.sleep(0.005)
        assert status == "ready", status

    def until_told(self, environment: str) -> None:
        """Until its application has reported something; asks the database, every two milliseconds."""
        from vetro.server.tasks.models import Report

        told = Report.objects.filter(task__environment_id=environment, entity_id__startswith="app-")
        until = time.monotonic() + _PATIENCE
        while not told.exists():
            if time.monotonic() > until:
                raise SystemExit(f"nothing was reported of environment {environment}")
            time.sleep(0.002)


def _figure(name: str, values: list[float]) -> None:
    values = sorted(value * 1000 for value in values)
    p95, p99 = (values[min(len(values) - 1, int(len(values) * part))] for part in (0.95, 0.99))
    middle = statistics.median(values)
    print(f"{name}: median {middle:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, of {len(values)}", flush=True)


def _timed(action: Any) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def _memory(pid: int) -> float:
    """MiB of a process and all below it, shared pages counted once (PSS)."""
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text("ascii").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) / 1024
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text("ascii").split()]
        except OSError:
            continue
    return total


def _idle() -> tuple[float, float]:
    """Ticks of all processors in which they had nothing to do, and all of their ticks."""
    fields = [float(word) for word in Path("/proc/stat").read_text("ascii").partition("\n")[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


@dataclass
class _Drained:
    """How a queue was worked through: seconds, deployments a second while at least a tenth of them waited, and which
    share of the processors had nothing to do then."""

    seconds: float
    rate: float
    idle: float


def _stop(process: int) -> None:
    """Stops a process; all of its threads stand then. The signal alone lets others go on until one has taken it."""
    os.kill(process, signal.SIGSTOP)
    threads = Path(f"/proc/{process}/task")
    while any(path.read_text().rpartition(")")[2].split()[0] != "T" for path in threads.glob("*/stat")):
        time.sleep(0.001)


def _drain(client: Client, worker: int, first: int, count: int, *, full: bool = False) -> _Drained:
    """Deploys so many at once. ``full``: the worker is stopped until all are ordered, and has the processors then.

    How many are left is asked of the database, seldom: a client that asks for each one in turn takes half a processor
    from the worker.
    """
    from django.db import transaction

    from vetro.server.tasks.models import Task

    pairs = [client.environment(f"q{first + number}") for number in range(count)]
    left = Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING))
    if full:
        with transaction.atomic():  # nobody is stopped in the middle of what others would wait for
            _stop(worker)
    begun, before = time.perf_counter(), _idle()
    try:
        for pair in pairs:
            client.deploy(*pair)
        if full:
            begun, before = time.perf_counter(), _idle()
    finally:
        os.kill(worker, signal.SIGCONT)
    drained = _Drained(0.0, 0.0, 0.0)
    while now_left := left.count():
        drained.seconds = time.perf_counter() - begun
        if drained.seconds > _LONG_PATIENCE:
            raise SystemExit(f"{now_left} of {count} deployments did not end")
        if now_left >= count // 10:
            drained.rate = (count - now_left) / drained.seconds
            free, ticks = (after - then for after, then in zip(_idle(), before, strict=True))
            drained.idle = free / ticks if ticks else 0.0
        time.sleep(0.05)
    drained.seconds = time.perf_counter() - begun
    # Where hardly any is left once all are ordered, nothing was measured while they waited.
    drained.rate = drained.rate or count / drained.seconds
    for environment, _ in pairs:
        client.until_ready(environment)
    return drained


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queue", type=int, metavar="TIMES", help="measure the queue alone, so many times")
    parser.add_argument("--memory", type=int, metavar="COUNT", help="memory after so many deployments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder:
        environ = _prepare(Path(folder))
        os.environ.update(environ)
        from vetro.server.setup import setup

        setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        trivial.people()
        client = Client()
        worker = _worker(environ)
        try:
            _measure(client, worker.pid, options)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)


def _deployments(client: Client, name: str, number: int, until: Callable[[str], None]) -> list[float]:
    """Times of so many, one after the other, from their order until what is waited for."""
    times = []
    for one in range(number):
        environment, session = client.environment(f"{name}{one}")

        def whole(environment: str = environment, session: str = session) -> None:
            client.deploy(environment, session)
            until(environment)

        times.append(_timed(whole))
        client.until_ready(environment)
    return times


def _measure(client: Client, pid: int, options: argparse.Namespace) -> None:
    client.until_ready(_deployed(client, "warm"))
    if not options.queue:
        _measure_single(client)
    count = 0
    for number in range(options.queue or 2):
        full = number % 2 == 1
        drained = _drain(client, pid, count, _FIRST, full=full)
        count += _FIRST
        when = "before the worker goes on" if full else "at once"
        print(
            f"{_FIRST} deployments ordered {when}: {drained.seconds:.1f} s, {drained.rate:.1f} a second while they"
            f" waited, {drained.idle * 100:.0f} % of the processors idle; none failed",
            flush=True,
        )
    if options.memory:
        before, begun, first = _memory(pid), time.perf_counter(), count
        while count < options.memory:
            _drain(client, pid, count, _AT_ONCE)
            count += _AT_ONCE
            if count % 1000 < _AT_ONCE:
                print(f"{_memory(pid):.1f} MiB after {count} deployments", flush=True)
        after, rate = _memory(pid), (count - first) / (time.perf_counter() - begun)
        print(
            f"memory of the worker and its processes: {before:.1f} MiB after {first} deployments,"
            f" {after:.1f} MiB after {count}: {(after / before - 1) * 100:+.1f} %; with making the environments"
            f" {rate:.1f} a second",
            flush=True,
        )


def _measure_single(client: Client) -> None:
    _figure("deployment of a trivial environment, POST to success", _deployments(client, "one", 30, client.until_ready))
    told = _deployments(client, "told", 60, client.until_told)
    _figure("deployment of a trivial environment, POST to the first report", told)
    call = {"className": "bench.Trivial", "methodName": "add", "parameters": {"a": 1}}
    _figure("static action", [_timed(lambda: client.send("POST", "/v1/actions", call)) for _ in range(30)])
    client.send("GET", "/v1/schemas/bench.Trivial")
    _figure("schema, remembered", [_timed(lambda: client.send("GET", "/v1/schemas/bench.Trivial")) for _ in range(100)])


def _deployed(client: Client, name: str) -> str:
    environment, session = client.environment(name)
    client.deploy(environment, session)
    return environment


if __name__ == "__main__":
    main()
