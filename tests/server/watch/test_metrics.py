"""What servers used in the last hour: measured, folded into a row an environment, told everywhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.server.watch.world import PRETENDED, app, instance, made
from vetro.clouds.interface import Owner, ServerMetrics, ServerState
from vetro.engine.watching import looks, targets
from vetro.engine.watching.watch import Watch
from vetro.server.environments.models import Environment
from vetro.server.tasks import clock
from vetro.server.watch import metrics
from vetro.server.watch.metrics import Pending
from vetro.server.watch.models import MetricSamples
from vetro.server.watch.telemetry import MetricsCollector

pytestmark = pytest.mark.django_db

MIB = 1 << 20


def now() -> int:
    return int(clock.read().timestamp())


def measured(row: Environment, *samples: tuple[int, float | None], server: str = "c-i") -> None:
    """Samples of one server: seconds ago and processors."""
    pending = Pending()
    for ago, processors in samples:
        pending.add(row.id, now() - ago, {server: [processors, 256 * MIB, 512 * MIB, 40 * MIB]})
    assert pending.write() == 1


def test_samples_of_the_last_hour_are_told_by_server(ann: Any) -> None:
    row = made(ann, app("a", instance("i", "web")))
    path = f"/v2/environments/{row.id}/metrics"
    before = ann.get(path).json()
    assert before["servers"] == [{"id": "c-i", "name": "web", "component_id": "a", "samples": []}]
    assert before["reason"].startswith("nothing was measured in the last hour")
    measured(row, (7200, 0.9), (120, None), (60, 0.25))
    found = ann.get(path).json()
    (server,) = found["servers"]
    assert found["reason"] is None and [one["processors"] for one in server["samples"]] == [None, 0.25]
    newest = server["samples"][-1]
    assert (newest["memory"], newest["memory_limit"], newest["disk"]) == (256 * MIB, 512 * MIB, 40 * MIB)
    # A worker that was started again goes on in the same row.
    measured(row, (0, 0.5))
    assert len(ann.get(path).json()["servers"][0]["samples"]) == 3 and MetricSamples.objects.count() == 1


def test_nothing_of_what_is_simulated_is_measured(ann: Any) -> None:
    row = made(ann, app("a", instance("i")), cloud=PRETENDED)
    found = ann.get(f"/v2/environments/{row.id}/metrics").json()
    assert found == {"reason": "nothing of it exists, so nothing is used", "servers": []}


def test_others_see_nothing(ann: Any, eve: Any) -> None:
    row = made(ann, app("a", instance("i")))
    measured(row, (0, 0.5))
    assert eve.get(f"/v2/environments/{row.id}/metrics").status_code == 404


@pytest.mark.attack("database", "metrics")
def test_a_thousand_servers_cost_few_rows_a_turn_and_nothing_is_lost(ann: Any) -> None:
    project = ann.caller.project_id
    rows = [Environment.objects.create(project_id=project, name=f"e{n}", version=1) for n in range(20)]
    pending = Pending()
    for ago in (120, 60, 0):
        for row in rows:
            pending.add(row.id, now() - ago, {f"{row.name}-{n}": [0.1, 1, 2, 3] for n in range(50)})
    turns = 0
    while True:
        with CaptureQueriesContext(
            connection,
        ) as done:
            written = pending.write()
        if not written:
            break
        turns += 1
        assert written <= metrics.ROWS
        assert sum(query["sql"].startswith(("INSERT", "UPDATE")) for query in done.captured_queries) <= 1
    assert turns == -(-len(rows) // metrics.ROWS)
    assert all(len(metrics.of_environment(row.id)) == 50 for row in rows)
    assert {len(samples) for row in rows for samples in metrics.of_environment(row.id).values()} == {3}


def test_what_is_kept_is_bounded_and_goes(ann: Any) -> None:
    row = made(ann, app("a", instance("i")))
    pending = Pending()
    for number in range(500):
        pending.add(row.id, now(), {f"s{n}": [0.1, 1, 2, 3] for n in range(5000 if number == 0 else 1)})
    pending.write()
    found = metrics.of_environment(row.id)
    assert len(found) == 2000 and max(map(len, found.values())) == metrics.MOST
    gone = made(ann, app("b", instance("j")), name="gone")
    pending.add(gone.id, now(), {"x": [0.1, 1, 2, 3]})
    gone.delete()
    assert pending.write() == 1 and MetricSamples.objects.count() == 1
    assert metrics.forget(clock.read() + timedelta(seconds=1)) == 1


@pytest.mark.attack("database", "metrics")
def test_a_row_that_no_key_opens_is_written_anew(ann: Any) -> None:
    """What could not be written was tried again each second, and each time the watcher ended: of all environments."""
    row = made(ann, app("a", instance("i")))
    measured(row, (60, 0.1))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {MetricSamples._meta.db_table} SET samples = %s", [b"rubbish"])
    measured(row, (0, 0.5))
    assert [one[1] for one in metrics.of_environment(row.id)["c-i"]] == [0.5]


def test_prometheus_gets_the_newest_of_so_many_servers(
    ann: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = made(ann, app("a", instance("i")))
    measured(row, (60, 0.1), (0, 0.5))
    text = client.get("/metrics").content.decode()
    labels = f'{{environment="{row.id}",project="{row.project_id}",server="c-i"}}'
    assert f"vetro_server_processors{labels} 0.5" in text
    assert f"vetro_server_memory_bytes{labels} 2.68435456e+08" in text
    other = made(ann, app("b", instance("j")), name="other")
    measured(other, (0, 0.5), server="c-j")
    monkeypatch.setattr("vetro.server.watch.telemetry.MOST", 1)
    assert [len(family.samples) for family in MetricsCollector().collect()] == [1, 1, 1, 1]


@pytest.mark.attack("database", "metrics")
def test_a_row_that_no_key_opens_keeps_no_others_from_prometheus(ann: Any) -> None:
    row, other = made(ann, app("a", instance("i"))), made(ann, app("b", instance("j")), name="other")
    measured(row, (0, 0.5))
    measured(other, (0, 0.7), server="c-j")
    with connection.cursor() as cursor:
        statement = f"UPDATE {MetricSamples._meta.db_table} SET samples = %s WHERE environment_id = %s"
        cursor.execute(statement, [b"rubbish", row.id])
    assert [(found[1], found[3][1]) for found in metrics.newest(10)] == [(other.id, 0.7)]


# -- measuring ---------------------------------------------------------------------------------------------------------


class Cloud:
    """Two servers; what they have taken is told by ``taken``."""

    taken = 10.0
    asked = 0

    def servers(self, owner: Owner) -> list[ServerState]:
        return [ServerState(id, id, "", "", "ACTIVE") for id in ("c-1", "c-2")]

    def server_metrics(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[str, ServerMetrics]:
        self.asked += 1
        return {"c-1": ServerMetrics(self.taken, 5, 9, 7), "c-2": ServerMetrics()}

    def close(self) -> None:
        """Nothing is open."""


def target() -> dict[str, Any]:
    servers = [{"id": "c-1", "name": "one"}, {"id": "c-2", "name": "two"}]
    component = {"id": "a", "servers": servers, "checks": [], "guesses": []}
    owner = {"project": "p", "environment": "e"}
    return {"id": "e", "number": 1, "owner": owner, "cloud": "k", "since": 0.0, "components": [component]}


def test_processors_are_what_was_taken_since_the_last_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "LOOK", 0.05)
    monkeypatch.setattr(looks, "MEASURE", 0.05)
    cloud = Cloud()

    async def run() -> list[dict[str, Any]]:
        watch = Watch(lambda key, owner: cloud, spread=0.0)
        watch.put(target())
        work = asyncio.get_running_loop().create_task(watch.run())
        found: list[dict[str, Any]] = []
        until = time.monotonic() + 20
        while len(found) < 2 and time.monotonic() < until:
            more = watch.metrics()
            if more:
                cloud.taken += 100.0
            found += more
            await asyncio.sleep(0.05)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        return found

    first, second = asyncio.run(run())
    assert first["servers"] == {"c-1": [None, 5, 9, 7], "c-2": [None, None, None, None]}
    busy, *rest = second["servers"]["c-1"]
    assert busy > 1 and rest == [5, 9, 7] and second["servers"]["c-2"][0] is None
