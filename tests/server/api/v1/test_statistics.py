"""/v1 statistics."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from vetro.server.observe.request_counters import Requests


def test_statistics_over_the_wire(ann: Any, eve: Any) -> None:
    env = ann.post("/v1/environments", {"name": "e"}).json()["id"]
    path = f"/v1/environments/{env}/instance-statistics"
    for end in ("raw", "aggregated", "raw/nosuch"):
        assert ann.get(f"{path}/{end}").json() == []
        assert eve.get(f"{path}/{end}").status_code == 403
    assert ann.get(path).status_code == 404
    assert ann.get("/v1/environments/nosuch/instance-statistics/raw").status_code == 404
    (host,) = ann.get("/v1/stats").json()
    assert set(host) == {
        "id", "host", "created", "updated", "request_count", "error_count", "average_response_time",
        "requests_per_tenant", "requests_per_second", "errors_per_second", "cpu_percent", "cpu_count",
    }  # fmt: skip


def test_requests_are_counted_and_other_projects_are_not_told(ann: Any, eve: Any, root: Any) -> None:
    counted = Requests()
    counted.note(ann.caller.project_id, 0.5, failed=False)
    counted.note(eve.caller.project_id, 1.5, failed=True)
    counted.note("", 1.0, failed=False)
    told = counted.told(ann.caller)
    assert (told["request_count"], told["error_count"], told["average_response_time"]) == (3, 1, 1.0)
    assert json.loads(told["requests_per_tenant"]) == {ann.caller.project_id: 1}
    assert len(json.loads(counted.told(root.caller)["requests_per_tenant"])) == 2


def test_processes_answer_for_each_other(ann: Any, tmp_path: Path) -> None:
    other, own = Requests(tmp_path), Requests(tmp_path)
    other.note(ann.caller.project_id, 3.0, failed=True)
    other.share()
    (shared,) = tmp_path.glob("requests-*.json")
    shared.rename(tmp_path / "requests-1.json")  # as if another process had written it
    own.note(ann.caller.project_id, 1.0, failed=False)
    own.share()
    told = own.told(ann.caller)
    assert (told["request_count"], told["error_count"], told["average_response_time"]) == (2, 1, 2.0)
    assert json.loads(told["requests_per_tenant"]) == {ann.caller.project_id: 2}
    (tmp_path / "requests-2.json").write_text("[1,")
    assert own.told(ann.caller)["request_count"] == 2


def test_rates_are_about_the_time_of_all_processes(ann: Any, tmp_path: Path) -> None:
    first = Requests(tmp_path)
    first._begun -= 1000.0
    first._created -= timedelta(seconds=1000)
    for _ in range(100):
        first.note(ann.caller.project_id, 0.1, failed=True)
    first.share()
    (shared,) = tmp_path.glob("requests-*.json")
    shared.rename(tmp_path / "requests-1.json")
    young = Requests(tmp_path).told(ann.caller)  # it has only just begun, and counts the requests of the other, too
    assert young["request_count"] == 100
    assert 0.05 < young["requests_per_second"] <= 0.1 and 0.05 < young["errors_per_second"] <= 0.1
    assert young["created"] == first.told(ann.caller)["created"]
