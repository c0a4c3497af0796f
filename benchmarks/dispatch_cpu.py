"""What a trivial deployment costs the processor with each dispatcher, on the same PostgreSQL, batch by batch in turn.

``script/with-postgresql python -m benchmarks.dispatch_cpu`` makes two installations beside each other, each with one
worker, lets them deploy in turn and prints milliseconds of the processor a deployment: of the worker with all its
processes, and of the sessions that the database has for it. The ratio holds on a busy machine, too.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import trivial
from benchmarks.service_deploy import Client, _worker

SIDES = ("embedded", "procrastinate")
_TICKS = os.sysconf("SC_CLK_TCK")


def _cpu(pid: int) -> int:
    """Ticks of a process, of all below it, and of those among them that have ended."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text("ascii").split()]
        except OSError:
            continue
    return total


def _sessions() -> int:
    """Ticks of all sessions of the present database but this process's."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return sum(_cpu(pid) for (pid,) in cursor.fetchall())


def _side() -> None:
    """One installation: for each number on standard input so many deployments, then what they cost."""
    from vetro.server.setup import setup

    setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    trivial.people()
    client, worker, number = Client(), _worker(dict(os.environ)), 0
    try:
        for line in sys.stdin:
            pairs = [client.environment(f"e{number + more}") for more in range(int(line))]
            number += len(pairs)
            before = _cpu(worker.pid), _sessions()
            for pair in pairs:
                client.deploy(*pair)
            for environment, _ in pairs:
                client.until_ready(environment)
            after = _cpu(worker.pid), _sessions()
            print(*(1000 * (b - a) / _TICKS / len(pairs) for a, b in zip(before, after, strict=True)), flush=True)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)


@contextmanager
def _installation(side: str) -> Iterator[subprocess.Popen[str]]:
    import psycopg

    cluster = os.environ["VETRO_DATABASE__URL"]
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE bench_{side}")
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as data:
        (Path(data) / "vetro.toml").write_text('[cloud]\ndriver = "record"\n', "utf-8")
        environ = {
            **os.environ,
            "VETRO_DATA": data,
            "VETRO_DATABASE__URL": cluster.replace("/vetro?", f"/bench_{side}?"),
            "VETRO_DISPATCH__BACKEND": side,
        }
        words = [sys.executable, "-m", "benchmarks.dispatch_cpu", "--side", side]
        process = subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.communicate(timeout=120)


def _batch(process: subprocess.Popen[str], count: int) -> tuple[float, float]:
    assert process.stdin is not None and process.stdout is not None
    print(count, file=process.stdin, flush=True)
    worker, sessions = map(float, process.stdout.readline().split())
    return worker, sessions


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=30, help="deployments a batch")
    options = parser.parse_args()
    if options.side:
        _side()
        return
    if not os.environ.get("VETRO_DATABASE__URL", "").startswith("postgres"):
        raise SystemExit("run it below script/with-postgresql")
    found: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        processes = {side: stack.enter_context(_installation(side)) for side in SIDES}
        for number in range(options.rounds + 1):
            for side in SIDES if number % 2 else SIDES[::-1]:
                cost = _batch(processes[side], options.count)
                if number:  # the first one warms up
                    found[side].append(cost)
    for side, costs in found.items():
        worker, sessions = (statistics.median(column) for column in zip(*costs, strict=True))
        print(f"{side}: {worker:.1f} ms of the worker, {sessions:.1f} ms of its sessions a deployment")
    ratios = [sum(b) / sum(a) for a, b in zip(found["embedded"], found["procrastinate"], strict=True)]
    low, high = min(ratios), max(ratios)
    print(f"procrastinate / embedded: {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f}, {len(ratios)} pairs)")


if __name__ == "__main__":
    main()
