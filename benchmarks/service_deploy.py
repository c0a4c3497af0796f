"""Deployments through the service: from POST to success and to the first report, static actions, a queue of 200,
memory over 1,000.

``python -m benchmarks.service_deploy [--memory]`` starts one worker on a new data directory (SQLite, recording cloud)
and prints one line for each figure. ``--memory`` also measures how much the worker grows between deployment 200 and
1,000, which takes some minutes.
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
from pathlib import Path
from typing import Any

from benchmarks import trivial

_PATIENCE = 600.0


def _prepare(data: Path) -> dict[str, str]:
    (data / "vetro.toml").write_text('[cloud]\ndriver = "record"\n', "utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    environ["VETRO_DATA"] = str(data)
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
            assert time.monotonic() < until
            time.sleep(0.005)
        assert status == "ready", status

    def until_told(self, environment: str) -> None:
        """Until its application has reported something; asks the database, every two milliseconds."""
        from vetro.server.tasks.models import Report

        told = Report.objects.filter(task__environment_id=environment, entity_id__startswith="app-")
        until = time.monotonic() + _PATIENCE
        while not told.exists():
            assert time.monotonic() < until
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


def _drain(client: Client, first: int, count: int) -> float:
    pairs = [client.environment(f"q{first + number}") for number in range(count)]
    begun = time.perf_counter()
    for pair in pairs:
        client.deploy(*pair)
    for environment, _ in pairs:
        client.until_ready(environment)
    return time.perf_counter() - begun


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true")
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
            _measure(client, worker.pid, options.memory)
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


def _measure(client: Client, pid: int, memory: bool) -> None:
    client.until_ready(_deployed(client, "warm"))
    _figure("deployment of a trivial environment, POST to success", _deployments(client, "one", 30, client.until_ready))
    told = _deployments(client, "told", 60, client.until_told)
    _figure("deployment of a trivial environment, POST to the first report", told)
    call = {"className": "bench.Trivial", "methodName": "add", "parameters": {"a": 1}}
    _figure("static action", [_timed(lambda: client.send("POST", "/v1/actions", call)) for _ in range(30)])
    client.send("GET", "/v1/schemas/bench.Trivial")
    _figure("schema, remembered", [_timed(lambda: client.send("GET", "/v1/schemas/bench.Trivial")) for _ in range(100)])
    seconds = _drain(client, 0, 200)
    print(f"200 deployments queued at once: {seconds:.1f} s, {200 / seconds:.1f} a second, none failed", flush=True)
    if memory:
        before = _memory(pid)
        for first in range(200, 1000, 100):
            _drain(client, first, 100)
        after = _memory(pid)
        print(
            f"memory of the worker and its processes: {before:.1f} MiB after 230 deployments,"
            f" {after:.1f} MiB after 1,030: {(after / before - 1) * 100:+.1f} %",
            flush=True,
        )


def _deployed(client: Client, name: str) -> str:
    environment, session = client.environment(name)
    client.deploy(environment, session)
    return environment


if __name__ == "__main__":
    main()
