"""``python -m benchmarks.list_environments``: what ``GET /v1/environments`` takes in a project with many of them.

One request after the other in this process, through the WSGI application: processor time of this process and of its
session in PostgreSQL (the least of ``--rounds``), and the most memory that Python held for it (a run of its own, since
counting takes time). On SQLite, or on the PostgreSQL of ``script/with-postgresql``.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

from benchmarks import bulk
from benchmarks.trivial import TOKEN, people


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--environments", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder:
        (Path(folder) / "vetro.toml").write_text('[cloud]\ndriver = "record"\n', "utf-8")
        os.environ["VETRO_DATA"] = folder
        from vetro.server.setup import setup

        setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        fill(people().project_id, options.environments)
        from vetro.server.http.application import Application

        application = Application()
        ask(application)
        times = [_time(application) for _ in range(options.rounds)]
        tracemalloc.start()
        size = ask(application)
        _, most = tracemalloc.get_traced_memory()
    print(f"{size / 1e6:.1f} MB; processor time {min(times) * 1000:.0f} ms; memory {most / 1e6:.1f} MB")


def fill(project: str, count: int) -> None:
    """So many environments that were deployed once; a tenth have an open draft."""
    from django.db import connection, transaction

    from vetro.server.environments.models import Environment, Session
    from vetro.server.tasks.models import Task

    draft = os.urandom(1000)
    ids = [(os.urandom(16).hex(), os.urandom(16).hex()) for _ in range(count)]
    with bulk.filling(), transaction.atomic() if connection.vendor == "sqlite" else bulk.settings():
        bulk.write(
            Environment, ["id", "project_id", "name", "version", "task_id", "description_text"],
            ((id, project, f"environment {n}", 1, task, "a text" * (n % 3)) for n, (id, task) in enumerate(ids)),
        )  # fmt: skip
        bulk.write(
            Session, ["environment_id", "user_id", "state", "version", "draft"],
            ((id, "u", *(("deployed", 0) if n % 10 else ("opened", 1)), draft) for n, (id, _) in enumerate(ids)),
        )  # fmt: skip
        bulk.write(
            Task, ["id", "project_id", "user_id", "environment_id", "kind", "state", "spec"],
            ((task, project, "u", id, "deploy", "done", b"") for id, task in ids),
        )  # fmt: skip


def ask(application: Any) -> int:
    """One request; the bytes of its answer, each part let go at once."""
    environ: dict[str, Any] = {"PATH_INFO": "/v1/environments", "HTTP_X_AUTH_TOKEN": TOKEN, "HTTP_HOST": "localhost"}
    setup_testing_defaults(environ)
    status: list[str] = []
    parts = application(environ, lambda line, headers: status.append(line))
    size = sum(map(len, parts))
    close = getattr(parts, "close", None)
    if close is not None:
        close()
    if status[0][:3] != "200":
        raise SystemExit(status[0])
    return size


def _time(application: Any) -> float:
    gc.collect()
    before = time.process_time() + _database_time()
    ask(application)
    return time.process_time() + _database_time() - before


def _database_time() -> float:
    """Seconds of processor time of this thread's session in PostgreSQL, in steps of ten milliseconds."""
    from django.db import connection

    if connection.vendor == "sqlite":
        return 0.0
    connection.ensure_connection()
    number = connection.connection.info.backend_pid
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
