"""What one action costs, whatever else the machine does: statements, CPU here and in the database, pages looked at."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: A table that is read as a whole counts as a full scan from so many rows on.
SCANNED = 2000


@dataclass
class Cost:
    """Averages over some rounds."""

    statements: float = 0.0
    python_ms: float = 0.0
    database_ms: float = 0.0
    #: Pages of 8 KiB that the statements of one round looked at, as their plans say.
    pages: int = 0
    #: Tables that were read as a whole.
    scans: list[str] = field(default_factory=list)

    @property
    def total_ms(self) -> float:
        """CPU of both sides."""
        return self.python_ms + self.database_ms


def cost_of(action: Callable[[], Any], rounds: int) -> Cost:
    """Does something ``rounds`` times, after a first time that does not count."""
    from django.db import connection

    action()
    asked: list[tuple[str, Any]] = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    backend = _backend()
    with connection.execute_wrapper(count):
        here, there = time.process_time(), _cpu(backend)
        for _ in range(rounds):
            action()
        cost = Cost(
            len(asked) / rounds,
            (time.process_time() - here) * 1000 / rounds,
            (_cpu(backend) - there) * 1000 / rounds,
        )
        del asked[:]
        action()
    for sql, params in asked:
        if sql.lstrip().upper().startswith(("SELECT", "WITH", "UPDATE", "DELETE")):
            _explain(sql, params, cost)
    return cost


def _explain(sql: str, params: Any, cost: Cost) -> None:
    """Adds what a statement looks at. It is run again, and taken back."""
    from django.db import transaction

    with transaction.atomic(), _cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()
        found = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
        transaction.set_rollback(True)
    cost.pages += found["Shared Hit Blocks"] + found["Shared Read Blocks"]
    left = [found]
    while left:
        node = left.pop()
        left += node.get("Plans", ())
        rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        if node["Node Type"] == "Seq Scan" and rows >= SCANNED and node["Relation Name"] not in cost.scans:
            cost.scans.append(node["Relation Name"])


def _cursor() -> Any:
    from django.db import connection

    return connection.cursor()


def _backend() -> int:
    with _cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def _cpu(pid: int) -> float:
    """CPU seconds of a process with one thread."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError):  # a kernel without; its ticks are coarse
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
