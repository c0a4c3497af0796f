"""What the script of Monitoring makes of what applications say, without a server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.scripts import CATALOG, script

VERSIONS = sorted(path.name for path in (CATALOG / "Monitoring").iterdir() if path.name[0].isdigit())


@pytest.fixture(name="script", params=VERSIONS)
def script_of_a_version(request: pytest.FixtureRequest) -> Any:
    return script("Monitoring", request.param, "monitoring.py")


def said(name: str, number: int, host: Any = "10.0.0.5", port: Any = 9121, path: Any = "/metrics") -> dict[str, Any]:
    """What an application says."""
    return {
        "name": name,
        "id": f"{number:032x}",
        "metrics": [{"host": host, "port": port, "path": path}],
        "rules": None,
    }


def test_applications_are_jobs_of_their_name(script: Any) -> None:
    told = [said("cache", 1), said("\u00fcber: \"a\" 'b' #", 2, "fd00::7"), {**said("quiet", 3), "metrics": []}]
    made = script.prometheus({"applications": told, "interval": 15, "webhook": None}, script.unique(told))
    jobs = {one["job_name"]: one["static_configs"] for one in json.loads(json.dumps(made))["scrape_configs"]}
    assert [*jobs] == ["monitoring", "cache", "\u00fcber: \"a\" 'b' #"]
    assert jobs["cache"] == [{"targets": ["10.0.0.5:9121"], "labels": {"__metrics_path__": "/metrics"}}]
    assert jobs["\u00fcber: \"a\" 'b' #"][0]["targets"] == ["[fd00::7]:9121"]
    # Nobody who is measured leads Prometheus to somewhere else, such as what is for its own server only.
    assert not any(one["follow_redirects"] for one in made["scrape_configs"])


def test_names_that_are_not_their_own(script: Any) -> None:
    told = [said("cache", 1), said("cache", 2), said("monitoring", 3), said("bell\x07", 4), said("pg", 5)]
    one, two, three, four, five = script.unique(told)
    assert (one, two) == (f"cache-{1:032x}", f"cache-{2:032x}")
    assert (three, four, five) == (f"monitoring-{3:032x}", f"{4:032x}", "pg")


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": 'a"\nb'},
        {"host": "a b"},
        {"host": "10.0.0.5\n"},
        {"host": ""},
        {"host": None},
        {"port": 0},
        {"port": 65536},
        {"port": "9121"},
        {"port": True},
        {"path": "metrics"},
        {"path": "/metrics\n"},
        {"path": "/m?x=1"},
    ],
)
def test_places_that_are_none(script: Any, wrong: dict[str, Any]) -> None:
    told = [said("cache", 1, **wrong)]
    with pytest.raises(script.Refused, match=r"cache: it has metrics at"):
        script.prometheus({"applications": told, "interval": 15, "webhook": None}, script.unique(told))


def test_a_configuration_that_was_touched_is_another(script: Any, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    texts = {"prometheus.json": "{}", os.path.join("rules", "a.yaml"): "groups: []\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert script.same(str(tmp_path), texts)
    (tmp_path / "rules" / "b.yaml").write_text("groups: []\n")
    assert not script.same(str(tmp_path), texts)
