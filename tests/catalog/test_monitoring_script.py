"""What the script of Monitoring makes of what applications say, without a server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

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
    limits = ("body_size_limit", "sample_limit", "label_limit", "label_name_length_limit", "label_value_length_limit")
    assert all(one[limit] for one in made["scrape_configs"] for limit in limits)


def test_names_that_are_not_their_own(script: Any) -> None:
    told = [said("cache", 1), said("cache", 2), said("monitoring", 3), said("bell\x07", 4), said("pg", 5)]
    one, two, three, four, five = script.unique(told)
    assert (one, two) == (f"cache-{1:032x}", f"cache-{2:032x}")
    assert (three, four, five) == (f"monitoring-{3:032x}", f"{4:032x}", "pg")


def test_no_two_applications_have_the_same_name(script: Any) -> None:
    """Somebody is called like another one with its id: Prometheus would take none of all applications."""
    names = ["cache", "cache", f"cache-{1:032x}", "monitoring", f"monitoring-{4:032x}", "\x07", f"{6:032x}"]
    told = [said(name, number) for number, name in enumerate(names, 1)]
    found = script.unique(told)
    assert len({*found, "monitoring"}) == len(names) + 1 and found == script.unique(told)
    assert found[2] == names[2] and found[4] == names[4]


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


@pytest.mark.parametrize("text", ["a\r\nb\n", "\u00fc\n", "half a \ud83d pair\n"])
def test_a_configuration_is_compared_byte_by_byte(script: Any, tmp_path: Path, text: str) -> None:
    """Rules with line ends of Windows were others at each deployment; what cannot be read is another one, too."""
    path = tmp_path / "a.yaml"
    script.grp = type("", (), {"getgrnam": staticmethod(lambda name: type("", (), {"gr_gid": os.getgid()}))})
    script.store(str(path), text)
    assert script.same(str(tmp_path), {"a.yaml": text})
    path.write_bytes(path.read_bytes() + b"\xff")
    assert not script.same(str(tmp_path), {"a.yaml": text})


def test_nobody_is_told_by_way_of_somebody_else() -> None:
    """A webhook that leads on would have Alertmanager ask what is for its own server only."""
    made = script("Monitoring", "1.1.0", "monitoring.py").alertmanager({"webhook": "https://example.org/x"})
    ((one,),) = [receiver["webhook_configs"] for receiver in made["receivers"]]
    assert one["http_config"] == {"follow_redirects": False} and one["url"] == "https://example.org/x"
    rules = yaml.safe_load((CATALOG / "Monitoring" / "1.1.0" / "Resources" / "alerts.yaml").read_text("utf-8"))
    found = {one["alert"]: one["expr"] for group in rules["groups"] for one in group["rules"]}
    assert 'alertmanager_notifications_failed_total{job="monitoring"}' in found["NotificationsFail"]


def test_services_find_whole_words_to_start_with(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dies while it writes them leaves none: half of them would let everybody in."""
    monkeypatch.setattr(script, "DEFAULTS", str(tmp_path))
    monkeypatch.setattr(script, "DATA", str(tmp_path / "none"), raising=False)
    real = os.rename

    def dies(old: str, new: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", dies)
    with pytest.raises(KeyboardInterrupt):
        script.prepare({})
    assert not [name for name in script.FIRST if (tmp_path / name).exists()]
    monkeypatch.setattr(os, "rename", real)
    assert script.prepare({}) == {"changed": True} and script.prepare({}) == {"changed": False}
    assert {path.name for path in tmp_path.iterdir()} == {*script.FIRST}
    for name, words in script.FIRST.items():
        assert (tmp_path / name).read_text() == f'ARGS="{words}"\n' and "127.0.0.1:" in words


@pytest.mark.parametrize(
    "left",
    [("metrics", "metrics.new"), ("metrics.old", "metrics.new"), ("metrics", "metrics.old"), ("metrics.old",), ()],
)
def test_what_a_killed_restore_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...]
) -> None:
    """It is killed while it unpacks, between both moves, and while it removes what was there before."""
    module = script("Monitoring", "1.1.0", "monitoring.py")
    monkeypatch.setattr(module, "DATA", str(tmp_path))
    monkeypatch.setattr(module, "ordinary", lambda words: subprocess.run(words, check=True))
    for name in left:
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert module.tidy() == bool(left) and not module.tidy()
    there = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    kept = "metrics" if "metrics" in left else "metrics.old"
    assert sorted(there) == (["metrics", f"metrics/{kept}"] if left else [])
