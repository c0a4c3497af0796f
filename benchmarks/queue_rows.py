"""``script/with-postgresql python -m benchmarks.queue_rows``: whether the tables of the queue stay small and quick.

The database itself plays what a service and its workers write for ``--tasks`` deployments (a row of `Task` that is
claimed by the statement of workers, renewed, ended; its journal with an effect and a checkpoint), each a transaction,
many times as fast as they would; PostgreSQL's autovacuum looks for work as often as then. A line for each tenth: dead
rows at its end, bytes of each table with its indexes for a task, and the pages that a claim reads: looked at ten times,
since autovacuum comes and goes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.scale.place import prepare

_TABLES = ("dispatch_task", "dispatch_journaltask", "dispatch_journalentry")
#: Tasks that always wait.
_WAITING = 10
_PLAY = """
DO $$
DECLARE
  task text;
  fenced bigint;
BEGIN
  FOR n IN {first}..{last} LOOP
    INSERT INTO dispatch_task ({columns}) SELECT {values} FROM dispatch_task t WHERE t.id = 'template';
    COMMIT;
    {claim} INTO task, fenced;
    COMMIT;
    INSERT INTO dispatch_journaltask (task_id, digest, engine, begun, attempts, deaths, places)
      VALUES (task, md5(task), 'e', 0, 1, 0, 0);
    INSERT INTO dispatch_journalentry (task_id, key, kind, digest, about, begun)
      VALUES (task, '0/1', 'k', md5(task), decode(repeat('00', 100), 'hex'), 0);
    COMMIT;
    UPDATE dispatch_journalentry SET place = 1, result = decode(repeat('01', 100), 'hex'), ended = 1
      WHERE task_id = task AND key = '0/1';
    UPDATE dispatch_task SET lease_until = now(), log_bytes = 300 WHERE id = task;
    COMMIT;
    UPDATE dispatch_journaltask SET model = decode(repeat('02', 900), 'hex'), model_at = 1, ended = 'x'
      WHERE task_id = task;
    COMMIT;
    UPDATE dispatch_task SET state = 'done', owner = '', lease_until = NULL, finished = now(), updated = now()
      WHERE id = task;
    COMMIT;
  END LOOP;
END $$
"""


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--nap", type=int, default=1, help="seconds between two looks of autovacuum")
    parser.add_argument("--defaults", action="store_true", help="with PostgreSQL's settings instead of ours")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder:
        prepare(Path(folder))
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from django.db import connection

    from vetro.server.tasks.claim_queries import ClaimQueries
    from vetro.server.tasks.models import Task

    Task.objects.create(id="template", project_id="p", user_id="u", kind="deploy", state="done", spec={})
    names = [str(field.column) for field in Task._meta.concrete_fields]
    new = {
        "id": "md5('task' || n)", "project_id": "'project ' || mod(n, 20)",
        "environment_id": "md5('e' || mod(n, 5000))",
        "state": "'queued'", "created": "clock_timestamp()", "updated": "clock_timestamp()",
    }  # fmt: skip
    columns, values = (", ".join(each) for each in ([f'"{n}"' for n in names], [new.get(n, f't."{n}"') for n in names]))
    queries = ClaimQueries("w", "e", None, [], until=60.0, waited=-120.0, heard=-180.0)
    claim = queries.claims()[0]
    with connection.cursor() as cursor:
        play = _PLAY.format(
            first="{first}", last="{last}", columns=columns, values=values,
            claim=cursor.mogrify(claim, queries.values),
        )  # fmt: skip
        cursor.execute("UPDATE dispatch_task SET spec = %s WHERE id = 'template'", [os.urandom(1600)])
        cursor.execute(
            f"INSERT INTO dispatch_task ({columns}) SELECT {values} FROM dispatch_task t, generate_series(%s, 0) n"
            " WHERE t.id = 'template'",
            [1 - _WAITING],
        )
        cursor.execute(f"ALTER SYSTEM SET autovacuum_naptime = '{options.nap}s'")
        cursor.execute("SELECT pg_reload_conf()")
        if options.defaults:
            for table in _TABLES:
                cursor.execute(
                    f"ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)"
                )
        print("tasks | dead rows of each table | KiB of each table for a task | pages that a claim reads, least, most")
        part = options.tasks // 10
        for done in range(0, options.tasks, part):
            pages = []
            for first in range(done, done + part, part // 10):
                cursor.execute(play.format(first=first + 1, last=first + part // 10))
                pages.append(_pages(cursor, claim, queries.values))
            cursor.execute("SELECT pg_sleep(0.6)")  # sessions tell what they did after a while
            sizes = [_size(cursor, table) for table in _TABLES]
            dead = ", ".join(f"{rows:,}" for rows, _ in sizes)
            each = ", ".join(f"{size / (done + part) / 1024:.2f}" for _, size in sizes)
            print(f"{done + part:,} | {dead} | {each} | {min(pages)}, {max(pages)}", flush=True)


def _size(cursor: Any, table: str) -> tuple[int, int]:
    """Dead rows; bytes with all indexes."""
    cursor.execute(
        "SELECT n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables WHERE relname = %s", [table]
    )
    dead, size = cursor.fetchone()
    return int(dead), int(size)


def _pages(cursor: Any, claim: str, values: Any) -> int:
    """Pages that the claim of a task reads or changes; it is taken back."""
    cursor.execute("BEGIN")
    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {claim}", values)
    (plan,) = cursor.fetchone()[0]
    cursor.execute("ROLLBACK")
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


if __name__ == "__main__":
    main()
