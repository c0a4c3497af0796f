"""Plans for servers that nobody has made: a clear answer as soon as nobody is left who could make them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.engine.host.answer import Request
from vetro.engine.host.performer import EffectsHost
from vetro.library.stackdata import digest_of, parts_of

QUEUE = "eenv1-hone"
LISTENER = "-execution-results-x"
PLAN = {"FormatVersion": "2.0.0", "Name": "p", "Body": "return 1", "Scripts": {}, "Files": {}, "Parameters": {}}


class Task:
    """Begins effects as a worker does and notes what they answer."""

    def __init__(self, world: World) -> None:
        self.host = EffectsHost(world.cloud, world.cloud.channel(OWNER), OWNER)
        self.answers: dict[str, Any] = {}
        self._came = threading.Condition()

    def begin(self, key: str, kind: str, **args: Any) -> None:
        self.host.begin(Request(key, kind, args), self._answered)

    def call(self, key: str, queue: str = QUEUE) -> None:
        self.begin(key, "agent.call", queue=queue, listener=LISTENER, id=key, plan=PLAN, timeout=1000)

    def push(self, key: str) -> None:
        data = f"[rabbitmq]\ninput_queue = {QUEUE}\n"
        properties = {"name": "web", "image": "debian-12-murano", "flavor": "m1.small"}
        properties.update(user_data=data, user_data_format="RAW")
        parts = parts_of(hot({"s": {"type": "OS::Nova::Server", "properties": properties}}))
        put = [[*part, value] for part, value in parts.items()]
        self.begin(key, "stack.push", name="stack", region="", base=None, digest=digest_of(parts), put=put, drop=[])

    def _answered(self, key: str, answer: Any, error: Any) -> None:
        with self._came:
            self.answers[key] = answer if error is None else error
            self._came.notify_all()

    def answer(self, key: str) -> Any:
        with self._came:
            assert self._came.wait_for(lambda: key in self.answers, 30), f"{key} has no end"
        self.host.stored(key)
        return self.answers[key]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    monkeypatch.setattr("vetro.engine.host.agent_watch.GLANCE", 0.02)
    made = Task(World(tmp_path))
    yield made
    made.host.close()


def test_a_server_that_was_never_made_is_named(task: Task) -> None:
    task.call("1")
    answer = task.answer("1")
    assert answer["timeout"] == 1000
    assert f"no stack of the environment has a server with the agent queue '{QUEUE}'" in answer["why"]


def test_a_plan_that_is_sent_before_the_push_waits_for_its_server(task: Task) -> None:
    """Another branch sleeps, then pushes: as long as it may, nothing is certain."""
    task.call("1")
    task.begin("2", "sleep", seconds=0.5)
    task.answer("2")
    task.push("3")
    task.answer("3")
    assert task.answer("1")["result"]["ErrorCode"] == 0


def test_a_call_that_may_end_keeps_the_others_waiting(task: Task) -> None:
    """The branch that waits for a living server may make the missing one when it goes on."""
    task.host.cloud.driver.table = type(task.host.cloud.driver.table).from_json({"plans": [{"delay": 0.5}]})  # type: ignore[attr-defined]
    task.push("1")
    task.answer("1")
    task.call("2")
    task.call("3", "eenv1-hother")
    assert "result" in task.answer("2")
    assert "3" not in task.answers
    assert "eenv1-hother" in task.answer("3")["why"]


def test_making_the_server_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.engine.host.agent_watch.GLANCE", 0.02)
    task = Task(World(tmp_path, table={"servers": [{"failure": "no room"}]}))
    task.push("1")
    assert "no room" in task.answer("1")["message"]
    task.call("2")
    assert "making the server 'web' was begun and never finished" in task.answer("2")["why"]
    task.host.close()
