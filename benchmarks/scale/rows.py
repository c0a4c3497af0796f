"""What reads and writes cost with few rows and with many: at a tenth of the sizes, then at the whole."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks import bulk
from benchmarks.scale.costs import Cost, cost_of
from benchmarks.scale.filling import Filling
from benchmarks.trivial import Client

#: Times that each action is done.
ROUNDS = 20
#: What takes so long that once will do.
SLOW = ("v1: all environments of all projects",)
#: What a cost must have grown by to be named in the summary, when rows became ten times as many.
GROWN = 3.0


def measure(caller: Any, sizes: tuple[int, int, int]) -> list[str]:
    """Tables in Markdown. ``sizes``: environments, packages, reports."""
    from vetro.server.tasks.worker import run_queued

    client = Client()
    source, session = client.environment("source")
    client.deploy(source, session)
    run_queued()
    task = client.send("GET", f"/v2/tasks?environment={source}")["items"][0]["id"]
    filling = Filling(caller.project_id, source, task)
    results: list[dict[str, Cost]] = []
    before = 0
    for part in (10, 1):
        environments, packages, reports = (size // part for size in sizes)
        begun = time.monotonic()
        with bulk.filling(), ThreadPoolExecutor(1) as beside:
            done = beside.submit(_fill_packages, packages, before)
            filling.grow(environments, reports)
            done.result()
        print(f"1/{part} of the rows made in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        asked = Asking(caller, client, source, task)
        results.append(asked.all())
        before = packages
    return table(results[0], results[1], sizes)


def _fill_packages(count: int, before: int) -> None:
    """Through a connection of its own, which is closed: no tables are written by both."""
    from django.db import connection

    from benchmarks.service_catalog import fill

    try:
        with bulk.settings():
            fill(count, before)
    finally:
        connection.close()


_WAITING = """
UPDATE dispatch_task SET state = 'queued', lease_until = NULL, engine = ''
WHERE id IN (SELECT id FROM dispatch_task WHERE state = 'done' AND id <> %s LIMIT %s)
"""


class Asking:
    """The actions, by name."""

    def __init__(self, caller: Any, client: Client, source: str, task: str) -> None:
        self._caller = caller
        self._client = client
        self._source, self._task = source, task
        self._made = 0

    def all(self) -> dict[str, Cost]:
        """Each with its cost."""
        found: dict[str, Cost] = {}
        for name, action in {**self._reads(), **self._writes(), **self._work()}.items():
            found[name] = cost_of(action, 1 if name in SLOW else ROUNDS)
            print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
        found |= self._claims()
        return found

    def _get(self, path: str) -> Callable[[], Any]:
        return lambda: self._client.send("GET", path)

    def _reads(self) -> dict[str, Callable[[], Any]]:
        environment, task = self._source, self._task
        last = self._last_part()
        package = self._client.send("GET", "/v2/packages?limit=1")["items"][0]["id"]
        return {
            "v2: 50 environments, first page": self._get("/v2/environments?limit=50"),
            "v2: 50 environments, last page": self._get(f"/v2/environments?limit=50&cursor={last}"),
            "v2: one environment": self._get(f"/v2/environments/{environment}"),
            "v2: its states": self._get(f"/v2/environments/{environment}/states"),
            "v2: its tasks": self._get(f"/v2/tasks?environment={environment}"),
            "v2: status of its components": self._get(f"/v2/environments/{environment}/status"),
            "v2: 50 tasks of the project": self._get("/v2/tasks?limit=50"),
            "v2: one task": self._get(f"/v2/tasks/{task}"),
            "v2: log of 20,000 lines, first page": self._get(f"/v2/tasks/{task}/log?limit=100"),
            "v2: audit records": self._get("/v2/audit?limit=50"),
            "v2: 50 packages": self._get("/v2/packages?limit=50"),
            "v2: packages, one word": self._get("/v2/packages?search=cluster&limit=50"),
            "v2: one package": self._get(f"/v2/packages/{package}"),
            "v1: all environments of the project": self._get("/v1/environments"),
            "v1: all environments of all projects": self._everything,
            "page of environments: the first 50": self._page(),
            "page of environments: the last 50": self._page(skip=self._count() - 50),
            "page of environments: the 50 that changed last": self._page(sort="-changed"),
            "page of environments: those with a word, with a state": self._page(search="9", status="ready"),
            "v1: deployments of an environment": self._get(f"/v1/environments/{environment}/deployments"),
            "metrics": self._metrics,
        }

    def _everything(self) -> None:
        from vetro.server.environments import search as listing

        json.dumps({"environments": listing.whole(None)}, ensure_ascii=False)

    def _count(self) -> int:
        from vetro.server.environments import queries

        return queries.count(self._caller.project_id)

    def _page(self, *, skip: int = 0, sort: str = "name", **wanted: str) -> Callable[[], Any]:
        """What the page asks for; its HTML is the same however many there are."""
        from vetro.server.environments import search as listing

        def page() -> None:
            project = self._caller.project_id
            listing.count(project, in_text=True, **wanted)
            listing.part(project, in_text=True, **wanted, sort=sort, skip=skip, most=50)

        return page

    def _last_part(self) -> str:
        """The cursor of the last 50 environments of the project."""
        from vetro.server.api.paging import cursor
        from vetro.server.environments.models import Environment

        rows = Environment.objects.filter(project_id=self._caller.project_id).order_by("-name")
        return cursor(*rows.values_list("name", "id")[50])

    def _metrics(self) -> None:
        from vetro.server.observe.metrics import exposition

        exposition()

    def _writes(self) -> dict[str, Callable[[], Any]]:
        def whole() -> tuple[str, str]:
            self._made += 1
            return self._client.environment(f"made {time.time_ns()}")

        ready: list[tuple[str, str]] = []

        def prepared() -> None:
            ready.append(whole())

        def deploy() -> None:
            self._client.deploy(*ready.pop())

        def rename() -> None:
            self._made += 1
            self._client.send("PUT", f"/v1/environments/{self._source}", {"name": f"source {self._made}"})

        return {
            "new environment with an application (3 requests)": prepared,
            "deploy it (1 request)": deploy,
            "rename an environment": rename,
        }

    def _work(self) -> dict[str, Callable[[], Any]]:
        from vetro.server.retention.sweep import sweep
        from vetro.server.setup import config
        from vetro.server.tasks import members
        from vetro.server.tasks.models import Event
        from vetro.server.tasks.worker import run_queued

        def run_one() -> None:
            run_queued(most=1)

        def sweep_again() -> None:
            sweep(config())

        def stream() -> None:
            after = Event.objects.order_by("-seq").values_list("seq", flat=True)[0]
            list(Event.objects.filter(project_id=self._caller.project_id, seq__gt=after).order_by("seq")[:100])

        member = members.join([])
        return {
            "worker: a deployment from claim to end": run_one,
            "worker: heartbeat": lambda: members.beat(member),
            "worker: hourly sweep with nothing to drop": sweep_again,
            "event stream: one look": stream,
        }

    def _claims(self) -> dict[str, Cost]:
        """A claim while many tasks wait, which is taken back each time."""
        from django.db import connection, transaction

        from vetro.server.tasks.claim import claim

        found = {}
        for waiting in (0, 1000, 10_000):
            name = f"worker: claim while {waiting:,} tasks wait"

            def once() -> None:
                with transaction.atomic():
                    claim("nobody", 60.0)
                    transaction.set_rollback(True)

            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(_WAITING, [self._task, waiting])
                    cursor.execute("ANALYZE dispatch_task")
                found[name] = cost_of(once, ROUNDS)
                transaction.set_rollback(True)
            print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE dispatch_task")
        return found


def table(small: dict[str, Cost], large: dict[str, Cost], sizes: tuple[int, int, int]) -> list[str]:
    """Markdown: the costs at the whole size, what they were at a tenth, and which of them grow."""
    environments, packages, reports = sizes
    lines = [
        f"{environments:,} environments, {packages:,} packages, {reports:,} reports (in brackets: a tenth of each)",
        "",
        "| | statements | CPU here, ms | CPU of PostgreSQL, ms | pages looked at | read as a whole |",
        "|---|---|---|---|---|---|",
    ]
    for name, cost in large.items():
        was = small[name]
        lines.append(
            f"| {name} | {cost.statements:.0f} | {cost.python_ms:.1f} ({was.python_ms:.1f}) "
            f"| {cost.database_ms:.2f} ({was.database_ms:.2f}) | {cost.pages:,} ({was.pages:,}) "
            f"| {', '.join(cost.scans)} |"
        )
    grown = [name for name, cost in large.items() if cost.pages > 100 and cost.pages > GROWN * small[name].pages]
    return [*lines, "", "Grows with the rows: " + ("; ".join(grown) or "nothing") + "."]
