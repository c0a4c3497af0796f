"""What a trivial deployment costs with 1, 2 and 4 workers: CPU by part, transactions, bytes, and how many a second.

Deployments of as many environments are queued, then the workers are let loose. CPU time is that of all processes of a
part, ended ones too. On a machine with other work the rate says little; CPU for each deployment is what scales.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale.accounts import Account, children, command_of
from benchmarks.trivial import Client

#: Seconds after which a measurement has failed.
PATIENCE = 1200.0
#: Seconds for which it is measured what workers cost that have nothing to do.
WAITING = 10.0
_WORKER = (
    "from vetro.server.setup import setup; config = setup();"
    "from vetro.server.dispatch.worker import main; raise SystemExit(main(config, ready=lambda: print(flush=True)))"
)


@dataclass(frozen=True)
class Cost:
    """Of one deployment, on average; ``rate`` is deployments a second of all workers together."""

    workers: int
    rate: float
    worker_ms: float
    tasks_ms: float
    hosts_ms: float
    database_ms: float
    transactions: float
    log_bytes: float
    #: CPU of the workers and the database while there is nothing to do, in a second, of one worker. What this is in the
    #: time of the measurement is taken off the figures above.
    standing_ms: float
    #: How busy all processors of the machine were, others' work included: 1 is all of them all the time.
    busy: float

    @property
    def total_ms(self) -> float:
        """CPU of everything that a deployment needs besides the requests."""
        return self.worker_ms + self.tasks_ms + self.hosts_ms + self.database_ms


def measure(environ: dict[str, str], workers: int, count: int, name: str) -> Cost:
    """Deploys ``count`` environments with so many workers."""
    client = Client()
    pairs = [client.environment(f"{name}-{number}") for number in range(count)]
    with ExitStack() as stack:
        accounts = {part: stack.enter_context(Account(part)) for part in ("database", "worker", "tasks", "hosts")}
        for pid in _database():
            accounts["database"].join(pid)
        stack.enter_context(_workers(environ, workers, accounts))
        # The first task of a worker loads what later ones find.
        for number in range(4 * workers):
            client.deploy(*client.environment(f"{name}-warm-{number}"))
        _until_done()
        client.deploy(*pairs[0])
        _until_done()
        from django.db import transaction

        before, begun = {part: account.seconds() for part, account in accounts.items()}, time.monotonic()
        time.sleep(WAITING)
        waited = time.monotonic() - begun
        standing = {part: (account.seconds() - before[part]) / waited for part, account in accounts.items()}
        before, counters = {part: account.seconds() for part, account in accounts.items()}, _counters()
        idle, whole = _idle(), time.monotonic()
        with transaction.atomic():  # all become visible at once: the workers never wait for requests
            for pair in pairs[1:]:
                client.deploy(*pair)
        requested, begun = _counters(), time.monotonic()
        _until_done()
        took, everything = time.monotonic() - begun, time.monotonic() - whole
        used = {
            part: account.seconds() - before[part] - standing[part] * everything for part, account in accounts.items()
        }
        busy = 1 - (_idle() - idle) / ((os.cpu_count() or 1) * everything)
        after = _counters()
    done = count - 1
    _none_failed()
    each = {part: seconds / done * 1000 for part, seconds in used.items()}
    return Cost(
        workers=workers,
        rate=done / took,
        worker_ms=each["worker"],
        tasks_ms=each["tasks"],
        hosts_ms=each["hosts"],
        database_ms=each["database"],
        transactions=(after[0] - requested[0]) / done,
        log_bytes=(after[1] - counters[1]) / done,
        standing_ms=sum(standing.values()) / workers * 1000,
        busy=busy,
    )


@contextmanager
def _workers(environ: dict[str, str], count: int, accounts: dict[str, Account]) -> Iterator[None]:
    running = []
    try:
        for _ in range(count):
            command = accounts["worker"].command([sys.executable, "-c", _WORKER])
            running.append(subprocess.Popen(command, env=environ, stdout=subprocess.PIPE))
        for process in running:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise SystemExit("a worker did not start")
            for child in children(process.pid):
                part = "tasks" if "zygote" in command_of(child) else "hosts"
                accounts[part].join(child)
        yield
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(60)


def _database() -> list[int]:
    """All processes of the PostgreSQL that answers us: it has to run on this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    status = Path(f"/proc/{backend}/stat").read_text("ascii")
    parent = int(status.rpartition(")")[2].split()[1])
    return [parent, *children(parent)]


def _counters() -> tuple[int, int]:
    """Transactions so far, and bytes of the write-ahead log."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_stat_clear_snapshot(), (SELECT xact_commit FROM pg_stat_database WHERE datname="
            "current_database()), (pg_current_wal_lsn() - '0/0')::bigint"
        )
        _, transactions, written = cursor.fetchone()
    return int(transactions), int(written)


def _idle() -> float:
    """Seconds for which the processors of this machine had nothing to do, all together."""
    words = Path("/proc/stat").read_text("ascii").partition("\n")[0].split()
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")


def _until_done() -> None:
    from vetro.server.dispatch.models import Task

    until = time.monotonic() + PATIENCE
    while Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING)).exists():
        if time.monotonic() > until:
            raise SystemExit("the workers do not get done")
        time.sleep(0.1)


def _none_failed() -> None:
    from vetro.server.dispatch.models import Task

    states: list[Any] = list(Task.objects.exclude(state="done").values_list("state", flat=True))
    if states:
        raise SystemExit(f"{len(states)} deployments did not end well: {sorted(set(states))}")


def table(costs: list[Cost]) -> list[str]:
    """Markdown."""
    lines = [
        "| workers | deployments a second | CPU for each, ms | worker | task process | effects host | PostgreSQL "
        "| transactions | log written | a worker that waits, ms a second | machine busy |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for c in costs:
        parts = " | ".join(f"{value:.0f}" for value in (c.worker_ms, c.tasks_ms, c.hosts_ms, c.database_ms))
        lines.append(
            f"| {c.workers} | {c.rate:.1f} | {c.total_ms:.0f} | {parts} | {c.transactions:.0f} "
            f"| {c.log_bytes / 1024:.0f} KiB | {c.standing_ms:.0f} | {c.busy:.0%} |"
        )
    spread = max(c.total_ms for c in costs) / min(c.total_ms for c in costs) - 1
    return [*lines, "", f"CPU for each deployment differs by {spread:.0%} between them."]
