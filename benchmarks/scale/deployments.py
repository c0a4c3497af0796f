"""What a trivial deployment costs with 1, 2 and 4 workers: CPU by part, transactions, bytes, and how many a second.

Deployments of as many environments are queued, then the workers are let loose. CPU time is that of all processes of a
part, ended ones too; what starting them, their first tasks and waiting cost is not in it. On a machine with other work
the rate says little; CPU for each deployment is what scales. What others do to caches and clocks changes from minute to
minute, so the numbers of workers take turns, in another order in each round.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.scale.accounts import Account, children, command_of
from benchmarks.trivial import Client

#: Seconds after which a measurement has failed.
PATIENCE = 1200.0
#: Seconds for which it is measured what workers cost that have nothing to do: several of their looks and heartbeats.
WAITING = 6.0
#: Seconds between two looks at whether all is done: each costs the database something.
_LOOK = 0.25
#: Deployments for each place of a worker that go before: the first ones load what later ones find.
WARMING = 3
#: Rounds of so many or more lose the cheapest and the dearest one.
TRIMMED = 3
_WORKER = (
    "from vetro.server.setup import setup; config = setup();"
    "from vetro.server.tasks.worker import main; raise SystemExit(main(config, ready=lambda: print(flush=True)))"
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


def measure(
    environ: dict[str, str], numbers: list[int], count: int, rounds: int, rate: float = 0.0
) -> tuple[list[Cost], float]:
    """Deploys ``count`` environments with each number of workers, in so many rounds; averages by number of workers.

    ``rate``: so many are asked for in a second, for each worker; 0: all at once. Processors that are always busy make
    the same work dearer, so what depends on the number of workers is seen while some are free.

    The second result is by how much the same number of workers differed between rounds, in the mean: 0.1 is 10 %.
    """
    found: dict[int, list[Cost]] = {number: [] for number in numbers}
    for turn in range(rounds):
        for number in turns(numbers, turn):
            cost = _one_round(environ, number, count, f"{turn}-w{number}", rate * number)
            found[number].append(cost)
            print(f"round {turn + 1}: {cost}, {cost.total_ms:.1f} ms", file=sys.stderr, flush=True)
    drifts = [spread(costs) for costs in found.values()]
    return [average(costs) for costs in found.values()], sum(drifts) / len(drifts)


def turns(numbers: list[int], turn: int) -> list[int]:
    """The numbers in the order of a round: each comes early and late, and after each other."""
    first = turn % len(numbers)
    turned = [*numbers[first:], *numbers[:first]]
    return turned if turn % 2 == 0 else turned[::-1]


def average(costs: list[Cost]) -> Cost:
    """Of rounds with one number of workers; of many, without the cheapest and the dearest."""
    kept = sorted(costs, key=lambda cost: cost.total_ms)
    if len(kept) >= TRIMMED:
        kept = kept[1:-1]
    values = {each.name: sum(getattr(cost, each.name) for cost in kept) / len(kept) for each in fields(Cost)}
    return Cost(**{**values, "workers": kept[0].workers})


def spread(costs: list[Cost]) -> float:
    """By how much the dearest exceeds the cheapest."""
    return max(cost.total_ms for cost in costs) / min(cost.total_ms for cost in costs) - 1


def _one_round(environ: dict[str, str], workers: int, count: int, name: str, rate: float = 0.0) -> Cost:
    from vetro.server.setup import config

    client = Client()
    places = workers * int(config()["worker.tasks"])
    warming = [client.environment(f"{name}-warm-{number}") for number in range(WARMING * places)]
    pairs = [client.environment(f"{name}-{number}") for number in range(count)]
    with ExitStack() as stack:
        accounts = {part: stack.enter_context(Account(part)) for part in ("database", "worker", "tasks", "hosts")}
        for pid in _database():
            accounts["database"].join(pid)
        stack.enter_context(_workers(environ, workers, accounts))
        _deploy(client, warming)
        _until_done()
        before, begun = _seconds(accounts), time.monotonic()
        time.sleep(WAITING)
        waited = time.monotonic() - begun
        standing = {part: (used - before[part]) / waited for part, used in _seconds(accounts).items()}
        before, counters = _seconds(accounts), _counters()
        idle, whole = _idle(), time.monotonic()
        requested, begun = _counters(), time.monotonic()
        if rate:
            _arrive(client, pairs, rate)
        else:
            _deploy(client, pairs)
            requested, begun = _counters(), time.monotonic()
        _until_done()
        took, everything = time.monotonic() - begun, time.monotonic() - whole
        used = {part: used - before[part] - standing[part] * everything for part, used in _seconds(accounts).items()}
        busy = 1 - (_idle() - idle) / ((os.cpu_count() or 1) * everything)
        after = _counters()
    _none_failed()
    each = {part: seconds / count * 1000 for part, seconds in used.items()}
    return Cost(
        workers=workers,
        rate=count / took,
        worker_ms=each["worker"],
        tasks_ms=each["tasks"],
        hosts_ms=each["hosts"],
        database_ms=each["database"],
        transactions=(after[0] - requested[0]) / count,
        log_bytes=(after[1] - counters[1]) / count,
        standing_ms=sum(standing.values()) / workers * 1000,
        busy=busy,
    )


def _seconds(accounts: dict[str, Account]) -> dict[str, float]:
    return {part: account.seconds() for part, account in accounts.items()}


def _deploy(client: Client, pairs: list[tuple[str, str]]) -> None:
    """All become visible at once: the workers never wait for requests, and each has its share."""
    from django.db import transaction

    with transaction.atomic():
        for pair in pairs:
            client.deploy(*pair)


def _arrive(client: Client, pairs: list[tuple[str, str]], rate: float) -> None:
    """One after the other, so many in a second."""
    begun = time.monotonic()
    for number, pair in enumerate(pairs):
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        client.deploy(*pair)


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
    from vetro.server.tasks.models import Task

    until = time.monotonic() + PATIENCE
    while Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING)).exists():
        if time.monotonic() > until:
            raise SystemExit("the workers do not get done")
        time.sleep(_LOOK)


def _none_failed() -> None:
    from vetro.server.tasks.models import Task

    states: list[Any] = list(Task.objects.exclude(state="done").values_list("state", flat=True))
    if states:
        raise SystemExit(f"{len(states)} deployments did not end well: {sorted(set(states))}")


def table(costs: list[Cost], rounds: int, drift: float) -> list[str]:
    """Markdown: the averages of so many rounds, by number of workers; ``drift`` as `measure` gives it."""
    lines = [
        "| workers | deployments a second | CPU for each, ms | worker | task process | effects host | PostgreSQL "
        "| transactions | log written | a worker that waits, ms a second | machine busy |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for c in costs:
        parts = " | ".join(f"{value:.0f}" for value in (c.worker_ms, c.tasks_ms, c.hosts_ms, c.database_ms))
        lines.append(
            f"| {c.workers} | {c.rate:.1f} | {c.total_ms:.0f} | {parts} | {c.transactions:.0f} "
            f"| {c.log_bytes / 1024:.0f} KiB | {c.standing_ms:.1f} | {c.busy:.0%} |"
        )
    told = f"CPU for each deployment differs by {spread(costs):.0%} between them"
    if rounds > 1:
        told += f", and by {drift:.0%} between {rounds} rounds with the same number of workers"
    return [*lines, "", f"{told}."]
