"""What a trivial deployment costs with two dispatchers, on the same PostgreSQL, batch by batch in turn.

``script/with-postgresql python -m benchmarks.dispatch_cpu`` makes two installations beside each other, each with one
worker, lets them deploy in turn and prints milliseconds of the processor a deployment: of the worker with all its
processes (a control group counts them, also hosts of effects, which nobody waits for when they end: it needs root), and
of the sessions that the database has for it. The ratio holds on a busy machine, too. At the end it
counts the statements and commits of one more batch each.

The other one is procrastinate (its distribution has to be installed), or, with ``--against CHECKOUT``, the core's own
dispatcher of another checkout of Vetro.
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
from urllib.parse import parse_qsl, urlsplit

from benchmarks import trivial
from benchmarks.service_deploy import Client, _worker
from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.nspawn.cgroups import Cgroup, Cgroups

SIDES = ("embedded", "other")
_TICKS = os.sysconf("SC_CLK_TCK")


def below(pid: int) -> list[int]:
    """A process and all below it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text("ascii").split()]
        except OSError:
            continue
        found.append(one)
    return found


def _cpu(pid: int) -> int:
    """Ticks of a process, of all below it, and of those among them that have ended."""
    total = 0
    for one in below(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total


def counted(pid: int) -> Cgroup:
    """A control group with this process and all below it (what tasks are forked from is there already when a worker is
    ready), and all that they start from now on. Raises SystemExit where none counts."""
    group = Cgroups().group(f"vetro-bench-{pid}")
    try:
        for path in group.create():
            for one in below(pid):
                Path(path).write_text(str(one), "ascii")
    except (OSError, HostFailed) as error:
        raise SystemExit(f"processes are counted by a control group, which needs root: {error}") from None
    return group


def _seconds(group: Cgroup) -> float:
    taken = group.usage()[0]
    if taken is None:
        raise SystemExit("no control group of this machine counts processors")
    return taken


def _sessions() -> int:
    """Ticks of all sessions of the present database but this process's."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return sum(_cpu(pid) for (pid,) in cursor.fetchall())


def _commits() -> int:
    from django.db import connection

    with connection.cursor() as cursor:  # sessions report once a second at most
        cursor.execute("SELECT pg_sleep(1.2)")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def _statements(side: str) -> int:
    """How many the database has logged of an installation."""
    log = Path(dict(parse_qsl(urlsplit(os.environ["VETRO_DATABASE__URL"]).query))["host"]) / "log"
    return sum(
        line.startswith(f"bench_{side} ") and ("statement: " in line or "execute " in line)
        for line in log.read_text("utf-8", "replace").splitlines()
    )


def _side() -> None:
    """One installation: for each number on standard input so many deployments, then what they cost."""
    from vetro.server.setup import setup

    setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    trivial.people()
    client, worker, number = Client(), _worker(dict(os.environ)), 0
    group = counted(worker.pid)
    try:
        for line in sys.stdin:
            pairs = [client.environment(f"e{number + more}") for more in range(int(line))]
            number += len(pairs)
            before = _seconds(group), _sessions(), _commits()
            for pair in pairs:
                client.deploy(*pair)
            for environment, _ in pairs:
                client.until_ready(environment)
            after = _seconds(group), _sessions(), _commits()
            units = (1000.0, 1000 / _TICKS, 1.0)
            print(*((b - a) * unit / len(pairs) for a, b, unit in zip(before, after, units, strict=True)), flush=True)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
        group.kill()
        group.remove()


@contextmanager
def _installation(side: str, other: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
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
            **(other if side == "other" else {}),
        }
        words = [sys.executable, "-m", "benchmarks.dispatch_cpu", "--side", side]
        process = subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.communicate(timeout=120)


def _batch(process: subprocess.Popen[str], count: int) -> tuple[float, float, float]:
    assert process.stdin is not None and process.stdout is not None
    print(count, file=process.stdin, flush=True)
    worker, sessions, commits = map(float, process.stdout.readline().split())
    return worker, sessions, commits


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--against", type=Path, help="another checkout of Vetro, instead of procrastinate")
    parser.add_argument("--count", type=int, default=30, help="deployments a batch")
    options = parser.parse_args()
    if options.side:
        _side()
        return
    if not os.environ.get("VETRO_DATABASE__URL", "").startswith("postgres"):
        raise SystemExit("run it below script/with-postgresql")
    other = {"VETRO_DISPATCH__BACKEND": "procrastinate"}
    if options.against:
        other = {"PYTHONPATH": f"{options.against / 'src'}:{options.against}"}
    found: dict[str, list[tuple[float, float, float]]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        processes = {side: stack.enter_context(_installation(side, other)) for side in SIDES}
        for number in range(options.rounds + 1):
            for side in SIDES if number % 2 else SIDES[::-1]:
                cost = _batch(processes[side], options.count)
                if number:  # the first one warms up
                    found[side].append(cost)
        _log_statements()
        for side in SIDES:
            _batch(processes[side], options.count)
    for side, costs in found.items():
        worker, sessions, commits = (statistics.median(column) for column in zip(*costs, strict=True))
        print(
            f"{side}: {worker:.1f} ms of the worker, {sessions:.1f} ms of its sessions, {commits:.1f} commits,"
            f" {_statements(side) / options.count:.1f} statements a deployment"
        )
    ratios = [sum(b[:2]) / sum(a[:2]) for a, b in zip(found["embedded"], found["other"], strict=True)]
    low, high = min(ratios), max(ratios)
    print(f"other / embedded: {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f}, {len(ratios)} pairs)")


def _log_statements() -> None:
    import psycopg

    with psycopg.connect(os.environ["VETRO_DATABASE__URL"], autocommit=True) as connection:
        for name, value in (("log_line_prefix", "%d "), ("log_statement", "all")):
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        connection.execute("SELECT pg_reload_conf()")


if __name__ == "__main__":
    main()
