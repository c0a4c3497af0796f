"""What the benchmark of statements reads from the log of a database."""

from __future__ import annotations

from pathlib import Path

from benchmarks.statements import REQUESTS, WORKER, Log

TEXT = """\
worker|1|LOG:  statement: SELECT 1
worker|1|LOG:  statement: BEGIN
worker|1|LOG:  statement:\u0020
\tWITH RECURSIVE busy AS (SELECT 1)
\tUPDATE dispatch_task SET owner = 'it''s', fence = 7
worker|1|LOG:  statement: COMMIT
worker|1|LOG:  statement: BEGIN
worker|1|LOG:  statement: SELECT id FROM dispatch_task WHERE id = 'a' FOR NO KEY UPDATE
worker|1|LOG:  statement: COMMIT
worker|2|LOG:  statement: UPDATE looks SET at = 1
vetro|3|LOG:  statement: INSERT INTO t VALUES (1, 'a')
vetro|3|LOG:  statement: INSERT INTO t VALUES (2, 'b')
"""


def test_statements_commits_and_transactions_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(TEXT, "utf-8")
    log = Log(path)
    found = log.read()
    worker, requests = found[WORKER], found[REQUESTS]
    # The session that claims nothing is no place for tasks; who only locks a row has written nothing.
    assert (sum(worker.statements.values()), worker.commits, worker.transactions) == (3, 1, 3)
    assert dict(requests.statements) == {"INSERT INTO t VALUES (?, ?)": 2}
    assert (requests.commits, requests.transactions) == (2, 2)
    assert log.read() == {}
