"""The scenarios of deployments do their work at small sizes, and figures beyond a goal are called missed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import deploy
from benchmarks import run as command
from benchmarks.deployments.fleet import Bench, Run, model
from benchmarks.deployments.scenarios import SCENARIOS, BenchmarkWrong, checked
from benchmarks.goals import DEPLOY_SERVER_SECONDS
from vetro.engine.outcome import Outcome


@pytest.fixture(autouse=True)
def own_database(django_db_blocker: Any) -> Iterator[None]:
    """Journals are in a database that the benchmark brings."""
    with django_db_blocker.unblock():
        yield


def test_every_scenario_has_a_name() -> None:
    assert list(SCENARIOS) == list(deploy.NAMES)


@pytest.mark.campaign
def test_fleets_grow_linearly_in_what_they_send() -> None:
    rows = SCENARIOS["pushes"](True)
    assert [row["servers"] for row in rows] == [5, 10]
    assert all(row[key] > 0 for row in rows for key in ("task_s", "worker_s", "host_s", "host_start_s"))
    small, large = rows
    # What a task says once makes less than linear of it, and nothing may make more.
    for key in ("pipe_bytes", "journal_bytes"):
        assert small[key] < large[key] < 2.1 * small[key]


@pytest.mark.campaign
def test_one_push_of_a_fleet_sends_each_server_once() -> None:
    (together, _), (apart, _) = SCENARIOS["fleet"](True), SCENARIOS["pushes"](True)
    assert apart["pipe_bytes"] == pytest.approx(together["pipe_bytes"], rel=0.2)


@pytest.mark.campaign
def test_a_replay_does_nothing_again() -> None:
    found = SCENARIOS["replay"](True)
    assert found["servers"] == 10
    assert found["task_s"] > 0


@pytest.mark.campaign
def test_a_checkpoint_holds_the_model() -> None:
    found = SCENARIOS["checkpoint"](True)
    assert found["objects"] == 100
    assert found["bytes"] > 100 * 50


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["start", "command"])
def test_starting_is_measured(name: str) -> None:
    (line, *_) = deploy.judge(name, deploy.measure(name, small=True))
    assert " s wall, " in line.figure


@pytest.mark.campaign
def test_a_failed_deployment_is_wrong(tmp_path: Path) -> None:
    broken = model(2)
    broken["Objects"]["applications"][0]["members"][1]["instance"]["flavor"] = "no such flavor"
    with Bench(tmp_path) as bench:
        run = bench.run(broken, "fleet")
    with pytest.raises(BenchmarkWrong, match="ended as failed"):
        checked(run, 2)


def test_a_deployment_without_all_servers_is_wrong() -> None:
    outcome = Outcome("done", {"Objects": {"applications": [{"members": []}]}})
    with pytest.raises(BenchmarkWrong, match="0 of 1 servers"):
        checked(Run(outcome, 0, 0, 0, 0, 0), 1)


def fleet(servers: int, seconds: float, size: int = 1000) -> dict[str, Any]:
    times = dict.fromkeys(("cpu_s", "task_s", "worker_s", "host_s", "wall_s"), servers * seconds)
    return {"servers": servers, "pipe_bytes": servers * size, "journal_bytes": servers * size, **times}


@pytest.mark.parametrize(
    ("name", "found", "met"),
    [
        ("fleet", [fleet(100, DEPLOY_SERVER_SECONDS), fleet(400, DEPLOY_SERVER_SECONDS)], [True, True, True]),
        ("fleet", [fleet(100, 0.001), fleet(400, 0.0031)], [True, False, False]),
        ("pushes", [fleet(100, 0.1), fleet(400, 0.1, 3000)], [None, None, True, False, False]),
        ("checkpoint", {"objects": 1, "bytes": 1, "wall_s": 0.151, "task_s": 0, "worker_s": 0}, [False]),
        ("first-server", {"first_s": 2.9, "push_s": 0.1}, [True]),
        ("ten-servers", {"servers": 10, "wall_s": 15.1, "cpu_s": 1}, [False]),
    ],
)
def test_goals(name: str, found: Any, met: list[bool | None]) -> None:
    assert [line.met for line in deploy.judge(name, found)] == met


@pytest.mark.parametrize("wrong", [False, True])
def test_the_command(
    wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"wrong": "it failed"} if wrong else [fleet(5, 0.001), fleet(10, 0.001)]
    monkeypatch.setattr(deploy, "measure", lambda name, *, small: figures)
    file = tmp_path / "figures.json"
    assert command.main(["--only", "deploy fleet", "--quick", "--json", str(file)]) == (1 if wrong else 0)
    assert json.loads(file.read_text())["deploy"] == {"fleet": figures}
    said = capsys.readouterr().out
    assert ("WRONG: deploy fleet: it failed" in said) is wrong
    assert ("| fleet | 10 servers, one push | 1 ms a server" in said) is not wrong
    assert f"{0 if wrong else 3} of {0 if wrong else 3} goals met" in said


def test_a_scenario_that_fails_says_why() -> None:
    assert "KeyError" in deploy.measure("no such scenario")["wrong"]
