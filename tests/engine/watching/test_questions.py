"""What tasks are asked about environments: when, how many at once, and what their answers mean."""

from __future__ import annotations

import time
from typing import Any

import pytest

from vetro.clouds.interface import ServerState
from vetro.engine.watching import questions
from vetro.engine.watching.watch import Watch

COMMAND = {
    "object": "o", "name": "pg", "kind": "command", "on": ["s1"], "machines": {"s1": "i"}, "run": "pg_isready",
    "every": 60, "grace": 0,
}  # fmt: skip
METHOD = {
    "object": "o", "name": "lag", "kind": "method", "on": [], "id": "o", "method": "lag", "every": 300, "grace": 0,
}  # fmt: skip


class Asked:
    """A watch without loop: servers are as `server` says, and time passes when `later` says so."""

    def __init__(self) -> None:
        self.watch = Watch(lambda key, owner: None, spread=0.0)  # type: ignore[arg-type, return-value]

    def put(self, id: str, *checks: dict[str, Any], project: str = "p", number: int = 1, since: float = 0.0) -> None:
        component = {"id": "app", "servers": [{"id": "s1", "name": "web"}], "checks": list(checks)}
        owner = {"project": project, "environment": id}
        told = {"id": id, "number": number, "owner": owner, "cloud": "c", "since": since, "components": [component]}
        self.watch.put(told)
        self.server(id, "ACTIVE")

    def server(self, id: str, status: str) -> None:
        environment = self.watch._environments[id]
        environment.looked, environment.stale = time.monotonic(), False
        environment.servers = {"s1": ServerState("s1", "web", "", "", status)}

    def later(self, id: str = "e") -> None:
        environment = self.watch._environments[id]
        environment.ask_at = 0.0
        for component in environment.components:
            for result in component.results.values():
                result.due = 0.0

    def asked(self) -> list[tuple[str, list[str]]]:
        return [(one["id"], [check["key"] for check in one["checks"]]) for one in self.watch.questions()]

    def answer(self, id: str = "e", number: int = 1, seconds: float = 0.0, **results: tuple[str, str]) -> None:
        told = {key.replace("_", "/"): {"state": state, "text": text} for key, (state, text) in results.items()}
        self.watch.answered({"id": id, "number": number, "seconds": seconds, "results": told})

    def told(self) -> list[tuple[str, str]]:
        return [(one["state"], one["text"]) for item in self.watch.changes() for one in item["components"]]

    def pauses(self, id: str = "e") -> list[float]:
        (component,) = self.watch._environments[id].components
        return [result.due - time.monotonic() for result in component.results.values()]


@pytest.fixture
def asked() -> Asked:
    return Asked()


RUNNING, DOWN = ("running", ""), ("down", "it ended with 1")


def test_a_command_is_down_after_three_failures_and_nothing_is_green_before_it_was_asked(asked: Asked) -> None:
    asked.put("e", COMMAND)
    assert asked.told() == []
    (question,) = asked.watch.questions()
    assert question["checks"] == [
        {"key": "o/pg/s1", "kind": "command", "server": "i", "command": "pg_isready", "name": "pg"}
    ]
    assert asked.asked() == []
    asked.answer(o_pg_s1=RUNNING)
    assert asked.told() == [RUNNING] and all(60 <= pause < 70 for pause in asked.pauses())
    for _ in range(3):
        assert asked.told() == []
        asked.later()
        assert asked.asked() == [("e", ["o/pg/s1"])]
        asked.answer(o_pg_s1=DOWN)
        assert all(60 <= pause < 70 for pause in asked.pauses())
    assert asked.told() == [("down", "pg: it ended with 1")]


def test_what_a_method_says_is_degraded_counts_at_once_and_one_success_mends_it(asked: Asked) -> None:
    asked.put("e", METHOD)
    assert asked.asked() == [("e", ["o/lag/"])]
    asked.answer(o_lag_=("degraded", "lag of 90 s"))
    assert asked.told() == [("degraded", "lag: lag of 90 s")] and all(300 <= pause < 331 for pause in asked.pauses())
    for number in range(3):
        asked.later()
        asked.asked()
        asked.answer(o_lag_=("down", "the answer was no"))
        assert [state for state, _ in asked.told()] == ([["degraded"], [], ["down"]][number])
    for said in ([], [RUNNING]):
        asked.later()
        asked.asked()
        asked.answer(o_lag_=RUNNING)
        assert asked.told() == said


def test_after_a_deployment_a_failure_is_waited_for(asked: Asked) -> None:
    asked.put("e", {**METHOD, "grace": 120}, since=time.time())
    asked.asked()
    asked.answer(o_lag_=("degraded", "no replica"))
    assert asked.told() == [("degraded", "lag: not yet: no replica")]
    asked.later()
    asked.asked()
    asked.answer(o_lag_=RUNNING)
    assert asked.told() == [RUNNING]


def test_a_server_that_does_not_run_is_not_asked_about_and_speaks_for_its_checks(asked: Asked) -> None:
    asked.put("e", COMMAND, METHOD)
    asked.server("e", "SHUTOFF")
    assert asked.asked() == []
    assert asked.told() == [("down", "server 'web' has shut down")]
    asked.server("e", "ACTIVE")
    asked.later()
    assert asked.asked() == [("e", ["o/pg/s1", "o/lag/"])]


def test_what_is_not_answered_is_asked_again_and_first(asked: Asked) -> None:
    asked.put("e", COMMAND, METHOD)
    asked.asked()
    asked.answer(o_pg_s1=RUNNING)
    asked.watch._environments["e"].ask_at = 0.0
    assert asked.told() == [] and asked.asked() == []
    pg, lag = asked.pauses()
    assert 25 < lag <= questions.AGAIN < 60 <= pg


@pytest.mark.attack("quotas", "H3")
def test_who_has_many_slow_checks_holds_nobody_else_up(asked: Asked) -> None:
    for number in range(9):
        many = [{**METHOD, "name": f"m{n}", "method": f"m{n}"} for n in range(100)]
        asked.put(f"hog{number}", *many, project="hog")
    for number in range(3):
        asked.put(f"e{number}", METHOD, project=f"p{number}")
    first = asked.asked()
    assert [len(keys) for _, keys in first] == [20, 1, 1, 1] and [id for id, _ in first][1:] == ["e0", "e1", "e2"]
    asked.answer("hog0", seconds=60.0, **{f"o_m{n}_": RUNNING for n in range(20)})
    assert all(pause > 600 for pause in asked.pauses("hog0")[:20])  # a tenth of the time at most
    ((second, _),) = asked.asked()
    assert second == "hog1"  # environments of a project take turns
    asked.watch._questions._asking["hog1"].ask_until = 0.0
    assert [id for id, _ in asked.asked()] == ["hog2"]  # an answer that never comes is not waited for


def test_answers_about_what_is_another_one_by_now_say_nothing(asked: Asked) -> None:
    asked.put("e", METHOD)
    asked.asked()
    asked.put("e", METHOD, number=2)
    asked.answer(number=1, o_lag_=RUNNING)
    assert asked.told() == []
    asked.later()
    assert asked.asked() == [("e", ["o/lag/"])]
    asked.watch.drop(["e"])
    asked.answer(number=2, o_lag_=RUNNING)
    assert asked.told() == [] and asked.asked() == []


@pytest.mark.attack("quotas", "H3")
def test_projects_take_turns_however_many_environments_they_have(asked: Asked) -> None:
    for project in range(questions.ASKED):
        for number in range(50):
            asked.put(f"hog{project}-{number}", METHOD, project=f"hog{project}")
    asked.put("e", METHOD, project="small")
    assert [id for id, _ in asked.asked()] == ["hog0-0", "hog1-0", "hog2-0", "hog3-0"]
    asked.answer("hog2-0", o_lag_=RUNNING)
    assert [id for id, _ in asked.asked()] == ["e"]
    asked.answer("hog1-0", o_lag_=RUNNING)
    assert [id for id, _ in asked.asked()] == ["hog1-1"]
