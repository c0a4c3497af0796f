"""Metrics: counted by route without anything a client chose; queue and workers from the database."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from vetro.server import setup
from vetro.server.observe import metrics
from vetro.server.observe.requests import answered, route_of
from vetro.server.tasks import counts
from vetro.server.tasks.models import Task, WorkerProcess


@pytest.mark.parametrize(
    ("path", "status", "route"),
    [
        ("/v1/environments/0123456789abcdef0123456789abcdef/services/x", 200, "/v1/environments/{}/services/{}"),
        ("/v1/catalog/packages", 200, "/v1/catalog/packages"),
        ("/v1/made-up/by/a/client", 404, "none"),
        ("/v1/environments", 401, "none"),
        ("/v1/environments/a/services/" + "b/" * 50, 200, "/v1/environments/{}/services/{}/{}/{}"),
    ],
)
def test_a_route_holds_nothing_of_a_client(path: str, status: int, route: str) -> None:
    assert route_of(path, status) == ("v1", route)


def test_paths_of_nobody_are_one_route() -> None:
    assert {route_of(f"/{word}", 300) for word in ("a", "b", "nope/x")} == {("other", "none")}


@pytest.mark.django_db
def test_the_page_tells_requests_tasks_queue_and_workers(ann: Any) -> None:
    Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={}, state="queued")
    now = datetime.now(UTC)
    Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={}, state="failed", finished=now)
    Task.objects.create(project_id="p", user_id="u", kind="destroy", spec={}, state="queued", label="eu-1")
    counts.ended.forget()
    WorkerProcess.objects.create(id="w1", host="h", pid=1, version="1", seen=now)
    WorkerProcess.objects.create(id="w2", host="h", pid=2, version="1", seen=now - timedelta(minutes=5))
    answered({"REQUEST_METHOD": "BREW", "PATH_INFO": "/v1/catalog/packages", "vetro.request_id": "r"}, 200, 0.02)
    metrics.task_ended("brew", "failed", 3.0)
    answer = Client().get("/metrics")
    text = answer.content.decode()
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    for line in (
        'vetro_requests_total{api="v1",method="other",route="/v1/catalog/packages",status="200"} 1.0',
        'vetro_tasks{kind="deploy",state="failed"} 1.0',
        'vetro_tasks{kind="deploy",state="queued"} 1.0',
        # Where there is none yet: else Prometheus does not see the first one come.
        'vetro_tasks{kind="deploy",state="done"} 0.0',
        'vetro_tasks{kind="plan",state="needs_person"} 0.0',
        "vetro_queue_length 2.0",
        'vetro_queue_tasks{label="",queue="long"} 1.0',
        'vetro_queue_tasks{label="eu-1",queue="long"} 1.0',
        'vetro_queue_tasks_oldest_seconds{label="eu-1",queue="long"} ',
        "vetro_workers 1.0",
        'vetro_tasks_ended_total{kind="brew",state="failed"} 1.0',
        'vetro_task_seconds_bucket{kind="brew",le="5.0"} 1.0',
    ):
        assert line in text


@pytest.mark.django_db
def test_metrics_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"observe.metrics": False}))
    assert Client().get("/metrics").status_code == 300


def test_processes_of_one_service_are_added_up(tmp_path: Path) -> None:
    count = "from vetro.server.observe import metrics as m; m.request_answered('v1', 'GET', '/r', 200, 0.1)"
    show = (
        "from vetro.server.observe import metrics as m; from prometheus_client import CollectorRegistry as R;"
        "from prometheus_client.multiprocess import MultiProcessCollector as M;"
        "r = R(); M(r); print(m.generate_latest(r).decode())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", count], env=environment, check=True, timeout=60)
    shown = subprocess.run([sys.executable, "-c", show], env=environment, check=True, timeout=60, capture_output=True)
    assert b'vetro_requests_total{api="v1",method="GET",route="/r",status="200"} 2.0' in shown.stdout


def test_files_have_no_holes_where_a_full_disk_would_end_the_process(tmp_path: Path) -> None:
    """A write into a hole of a mapped file, with no room for it, is SIGBUS."""
    code = """
from vetro.server.observe import metrics
for number in range(300):
    metrics.request_answered("v1", "GET", f"/a/long/route/with/{number}/and/more/of/it", 200, 0.01)
metrics.task_ended("deploy", "done", 1.0)
"""
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    files = sorted(tmp_path.iterdir())
    assert [file.name.partition("_")[0] for file in files] == ["counter", "histogram"]
    for file in files:
        found = file.stat()
        assert found.st_size == metrics.ROOM and found.st_blocks * 512 >= found.st_size, file


def test_a_worker_says_of_all_kinds_that_none_has_ended() -> None:
    code = """if True:
        from prometheus_client import REGISTRY
        from vetro.server.setup import setup
        setup()
        from vetro.server.tasks import telemetry
        telemetry.worker_began()
        for state in ("done", "diverged"):
            print(REGISTRY.get_sample_value("vetro_tasks_ended_total", {"kind": "plan", "state": state}))
        print(REGISTRY.get_sample_value("vetro_task_seconds_count", {"kind": "plan"}))
    """  # a process of its own: others have run tasks in this one
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["0.0", "0.0", "0.0"]
