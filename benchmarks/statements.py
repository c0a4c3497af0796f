"""What a trivial deployment asks of PostgreSQL, counted: figures that a busy machine does not change.

``script/with-postgresql python -m benchmarks.statements`` deploys ``--count`` environments one after the other with one
worker, then as many whose application also sleeps once, and ``--effects`` times more, then goes on until
``--deployments`` were deployed, and prints a table. Statements are those that the database logs, without BEGIN and
COMMIT; a commit is one that wrote something; a transaction is also each read outside of one. ``--show`` lists the
statements of the worker. What the worker does besides (leases, looks for what is new) is in it; what this program asks
while it waits is not.

With ``--peers PYTHON``, an interpreter that has ``dbos`` and ``procrastinate[psycopg]``, it then counts on the same
server what a workflow of three steps of DBOS and a job of procrastinate ask, deferring and doing together.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from benchmarks import trivial
from benchmarks.scale.place import prepare
from benchmarks.service_deploy import _worker

#: Those whose rows deployments change.
_HOT = ("environments_session", "environments_environment", "dispatch_task", "dispatch_journaltask",
        "dispatch_journalentry")  # fmt: skip
_PATIENCE = 300.0
_SETTINGS = {
    "log_statement": "all",
    "log_line_prefix": "%a|%p|",
    "autovacuum": "off",  # dead rows are counted
    "checkpoint_timeout": "1h",  # after a checkpoint each page is logged as a whole, once
}
_LINE = re.compile(r"^(?P<who>[^|]*)\|(?P<pid>\d+)\|LOG:  (?:statement|execute [^:]*): (?P<text>.*)$")
_WRITES = re.compile(r"\bINSERT INTO\b|(?<!KEY )(?<!FOR )\bUPDATE\b|\bDELETE FROM\b")
#: In the statement that claims a task.
_CLAIM = "RECURSIVE busy"
#: What the sessions of the worker and of this process are called.
WORKER, REQUESTS = "worker", "vetro"
_PROGRAMS = Path(__file__).parent / "peers"
#: Of the engines that are measured beside Vetro: what a line calls it, its program, further words for that.
_PEERS = (
    ("DBOS, a workflow of three steps", "dbos_workflows.py"),
    ("DBOS, the same by its queue", "dbos_workflows.py", "queue"),
    ("procrastinate, a job", "procrastinate_jobs.py"),
)
#: Seconds in which it is seen what is written without tasks.
_IDLE = 6.0


@dataclass
class Counts:
    """What a part of the log says of one program."""

    statements: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    transactions: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.statements + other.statements,
            self.commits + other.commits,
            self.transactions + other.transactions,
        )


class Log:
    """The log of the database, read in parts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0

    def read(self) -> dict[str, Counts]:
        """By the name of the program, what was logged since this was called last."""
        with self._path.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._place)
            text = file.read()
            self._place = file.tell()
        sessions: dict[tuple[str, str], Counts] = {}
        open_: dict[str, bool] = {}
        for who, pid, statement in _statements(text):
            counts = sessions.setdefault((who, pid), Counts())
            word = statement.partition(" ")[0].upper()
            if word == "BEGIN":
                open_[pid] = False
                continue
            if word in ("COMMIT", "ROLLBACK") and " TO " not in statement:
                counts.transactions += 1
                counts.commits += open_.pop(pid, False) and word == "COMMIT"
                continue
            counts.statements[_shape(statement)] += 1
            wrote = bool(_WRITES.search(statement))
            if pid in open_:
                open_[pid] |= wrote
            else:
                counts.transactions += 1
                counts.commits += wrote
        found: dict[str, Counts] = {}
        for (who, _), counts in sessions.items():
            if who != WORKER or any(_CLAIM in statement for statement in counts.statements):
                found[who] = found.get(who, Counts()) + counts
        return found


def _statements(text: str) -> Iterator[tuple[str, str, str]]:
    """Program, process and text of each; long ones go on in further lines."""
    current: list[str] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            if current and line.startswith("\t"):
                current[2] += f" {line.strip()}"
            continue
        if current:
            yield current[0], current[1], current[2]
        current = [match["who"], match["pid"], match["text"].strip()]
    if current:
        yield current[0], current[1], current[2]


def _shape(statement: str) -> str:
    """A statement without its values."""
    text = re.sub(r"'(?:[^']|'')*'(?:::\w+)?|\b\d+(?:\.\d+)?\b|\bNULL\b", "?", re.sub(r"\s+", " ", statement))
    head, _, rest = text.partition(" FROM ")
    return (f"SELECT … FROM {rest}" if rest and head.startswith("SELECT") and len(head) > 70 else text)[:260]


class Database:
    """A session of its own, which asks what the database has counted."""

    def __init__(self) -> None:
        import psycopg

        url = os.environ["VETRO_DATABASE__URL"]
        self._session = psycopg.connect(url, autocommit=True, application_name="bench")
        for name, value in _SETTINGS.items():
            self._session.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        self._session.execute("SELECT pg_reload_conf()")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows."""
        return self._session.execute(statement.encode()).fetchall()

    def execute(self, statement: str) -> None:
        """For statements that answer without rows."""
        self._session.execute(statement.encode())

    def written(self) -> int:
        """Bytes of the log of changes."""
        return int(self.ask("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")[0][0])

    def tables(self) -> dict[str, tuple[int, int, int]]:
        """Table -> (updates, HOT ones, dead rows). Sessions tell what they did after a second."""
        time.sleep(2)
        rows = self.ask("SELECT relname, n_tup_upd, n_tup_hot_upd, n_dead_tup FROM pg_stat_user_tables")
        return {name: (updates, hot, dead) for name, updates, hot, dead in rows}

    def wait(self) -> None:
        """Until no task is left. Raises SystemExit where one failed."""
        until = time.monotonic() + _PATIENCE
        while self.ask("SELECT 1 FROM dispatch_task WHERE state IN ('queued', 'running') LIMIT 1"):
            if time.monotonic() > until:
                raise SystemExit("a task did not end")
            time.sleep(0.02)
        if self.ask("SELECT 1 FROM dispatch_task WHERE state <> 'done' LIMIT 1"):
            raise SystemExit("a task failed")


class Measurement:
    """One worker and who deploys."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.database = Database()
        host = dict(parse_qsl(urlsplit(os.environ["VETRO_DATABASE__URL"]).query))["host"]
        self.log = Log(Path(host) / "log")
        self.client = trivial.Client()
        self.number = 0
        self.worker = _worker(
            {**environ, "VETRO_DATABASE__URL": f"{environ['VETRO_DATABASE__URL']}&application_name={WORKER}"}
        )

    def idle(self) -> float:
        """Bytes of the log a second while nothing is to do."""
        before, begun = self.database.written(), time.monotonic()
        time.sleep(_IDLE)
        return (self.database.written() - before) / (time.monotonic() - begun)

    def deploy(self, count: int, idle: float = 0.0, **properties: Any) -> tuple[Counts, Counts, float]:
        """Deploys so many, one after the other: what the worker and the requests did, and bytes of the log."""
        pairs = [self.client.environment(f"e{self.number + more}", **properties) for more in range(count)]
        self.number += count
        self.log.read()
        before, begun = self.database.written(), time.monotonic()
        for pair in pairs:
            self.client.deploy(*pair)
            self.database.wait()
        size = self.database.written() - before - idle * (time.monotonic() - begun)
        found = self.log.read()
        return found.get(WORKER, Counts()), found.get(REQUESTS, Counts()), size


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40, help="deployments of each kind")
    parser.add_argument("--effects", type=int, default=10, help="further effects of a deployment of the second kind")
    parser.add_argument("--deployments", type=int, default=500, help="how many before dead rows are counted")
    parser.add_argument("--show", action="store_true", help="list the worker's statements")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has DBOS and procrastinate")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder:
        environ = prepare(Path(folder))
        trivial.people()
        measurement = Measurement(environ)
        try:
            _measure(measurement, options)
        finally:
            measurement.worker.send_signal(signal.SIGTERM)
            measurement.worker.wait(60)
        if options.peers:
            for title, program, *words in _PEERS:
                _measure_peer(measurement, title, [options.peers, str(_PROGRAMS / program)], words, options)


def _measure_peer(measurement: Measurement, title: str, command: list[str], words: list[str], options: Any) -> None:
    """Counts an engine's work in a database of its own."""
    name = f"peer_{_PEERS.index((title, Path(command[1]).name, *words))}"
    measurement.database.execute(f"CREATE DATABASE {name}")
    parts = urlsplit(os.environ["VETRO_DATABASE__URL"])
    url = parts._replace(path=f"/{name}").geturl()
    with subprocess.Popen(
        [*command, url, str(options.count), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as peer:
        assert peer.stdin and peer.stdout
        ready = peer.stdout.readline()
        if ready != "ready\n":
            raise SystemExit(f"{title}: {ready or 'ended'}")

        def work() -> float:
            assert peer.stdin and peer.stdout
            peer.stdin.write("\n")
            peer.stdin.flush()
            return float(peer.stdout.readline())

        work()  # what is asked once
        idle = measurement.idle()
        measurement.log.read()
        before, begun = measurement.database.written(), time.monotonic()
        seconds = work()
        size = measurement.database.written() - before - idle * (time.monotonic() - begun)
        peer.stdin.close()
        found = sum((counts for who, counts in measurement.log.read().items() if who != "bench"), Counts())
    if options.show:
        for text, times in found.statements.most_common():
            print(f"{title} {times / options.count:5.2f}  {text}")
    print(
        f"{title}: statements, transactions, WAL, its processor time | {_sum(found) / options.count:.1f},"
        f" {found.transactions / options.count:.1f}, {size / options.count / 1024:.1f} KiB,"
        f" {seconds / options.count * 1000:.1f} ms",
        flush=True,
    )


def _measure(measurement: Measurement, options: argparse.Namespace) -> None:
    measurement.deploy(5)
    count, effects, idle = options.count, options.effects, measurement.idle()
    plain, requests, log_bytes = measurement.deploy(count, idle)
    if options.show:
        for who, counts in ((WORKER, plain), (REQUESTS, requests)):
            for text, times in counts.statements.most_common():
                print(f"{who} {times / count:5.2f}  {text}")
    print(f"worker: statements / commits | {_sum(plain) / count:.1f} / {plain.commits / count:.1f}")
    transactions = (plain.transactions + requests.transactions) / count
    print(
        f"all: transactions / WAL | {transactions:.1f} ({requests.transactions / count:.1f} of them the request)"
        f" / {log_bytes / count / 1024:.1f} KiB",
        flush=True,
    )
    # The first one begins a journal and a host, which a deployment without effects does not have.
    first, _, first_bytes = measurement.deploy(count, idle, pauses=1)
    more, _, more_bytes = measurement.deploy(count, idle, pauses=1 + effects)
    for title, before, before_bytes, after, after_bytes, number in (
        ("the first effect", plain, log_bytes, first, first_bytes, 1),
        ("each further effect", first, first_bytes, more, more_bytes, effects),
    ):
        print(
            f"{title}: statements, commits, WAL | {(_sum(after) - _sum(before)) / count / number:.1f},"
            f" {(after.commits - before.commits) / count / number:.1f},"
            f" {(after_bytes - before_bytes) / count / number / 1024:.2f} KiB",
            flush=True,
        )
    measurement.deploy(max(options.deployments - measurement.number, 0))
    last = measurement.database.tables()
    for name in _HOT:
        updates, hot, dead = last[name]
        print(f"{name}: HOT updates; dead rows after {measurement.number} | {hot} of {updates}; {dead}")
    print(f"dead rows of others | { {n: dead for n, (_, _, dead) in sorted(last.items()) if dead and n not in _HOT} }")


def _sum(counts: Counts) -> int:
    return sum(counts.statements.values())


if __name__ == "__main__":
    main()
