"""Calls of agents whose server has ended: they fail with the reason instead of waiting for their time to pass."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import CloudError, Owner
from vetro.clouds.messages import Message
from vetro.engine.host.agent_watch import STILL, Unwatched
from vetro.engine.host.agents import Agents
from vetro.engine.host.answer import Request

ARGS = {"queue": "q", "listener": "-execution-results-x", "id": "1", "plan": {"Name": "p"}}
QUEUE = "eenv1-hone"
DATA = f"[rabbitmq]\ninput_queue = {QUEUE}\n"
SERVER: dict[str, Any] = {"type": "OS::Nova::Server", "properties": {"image": "debian-12-murano", "flavor": "m1.small"}}


class Silence:
    """A channel on which nothing ever comes."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, queue: str, message: Message) -> None:
        self.sent.append(message.id)

    def receive(self, queue: str, timeout: float) -> Message | None:
        time.sleep(min(timeout, 0.01))
        return None

    def acknowledge(self, queue: str, id: str) -> None:
        raise AssertionError("there was no answer")

    def connected(self, queue: str) -> bool | None:
        return False

    def close(self) -> None:
        pass


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., object]]:
    monkeypatch.setattr("vetro.engine.host.agents._LOOK", 0.01)
    monkeypatch.setattr("vetro.engine.host.agent_watch.GLANCE", 0.01)
    made: list[Agents] = []

    def run(why_silent: Callable[[str], str | None], timeout: float, **more: Callable[..., object]) -> object:
        servers = Unwatched()
        for name, method in {"why_silent": why_silent, **more}.items():
            setattr(servers, name, method)
        made.append(Agents(Silence(), servers=servers))
        return made[-1].handlers()["agent.call"](Request("1", "agent.call", {**ARGS, "timeout": timeout}))

    yield run
    for agents in made:
        agents.close()


def test_a_server_that_has_ended_is_named(call: Callable[..., object]) -> None:
    asked: list[str] = []

    def why(queue: str) -> str:
        asked.append(queue)
        return "server 'web' has ended by itself"

    with pytest.raises(CloudError, match="the agent does not answer: server 'web' has ended by itself"):
        call(why, 60)
    assert asked == ["q", "q"]


def test_a_server_that_comes_back_is_waited_for(call: Callable[..., object]) -> None:
    answers = iter([None, "away", None, "away", None])
    assert call(lambda queue: next(answers, None), 0.3) == {"timeout": 0.3}


def test_a_server_that_nobody_will_make_is_named(call: Callable[..., object]) -> None:
    """Looks begin anew whenever the task does something, and while it may still make servers."""
    turns = iter([1, 2, 2, None, 3, 3, 3])
    seen: list[int | None] = []

    def turn() -> int | None:
        seen.append(next(turns))
        return seen[-1]

    answer = call(lambda queue: None, 60, turn=turn, why_missing=lambda queue: f"nobody has made {queue}")
    assert answer == {"timeout": 60, "why": "nobody has made q"}
    assert seen == [1, 2, 2, None] + [3] * STILL


def test_plans_wait_for_servers_that_are_there(call: Callable[..., object]) -> None:
    assert call(lambda queue: None, 0.2, turn=lambda: 1) == {"timeout": 0.2}


def test_the_cloud_tells_servers_that_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    assert world.cloud.why_silent(OWNER, QUEUE) is None  # it may come yet
    missing = world.cloud.why_missing(OWNER, QUEUE)
    assert missing is not None and QUEUE in missing
    properties = {**SERVER["properties"], "name": "web", "user_data_format": "RAW", "user_data": DATA}
    world.push(hot({"s": {"type": SERVER["type"], "properties": properties}}))
    (server,) = world.cloud.servers(OWNER)
    assert world.driver.spec(server.id)["queue"] == QUEUE
    assert world.cloud.why_silent(OWNER, QUEUE) is None
    assert world.cloud.why_missing(OWNER, QUEUE) is None
    assert world.cloud.why_missing(Owner("project", "other"), QUEUE) is not None
    monkeypatch.setattr(world.driver, "statuses", lambda servers: {server.id: "SHUTOFF"})
    assert world.cloud.why_silent(OWNER, QUEUE) == "server 'web' is switched off; start it first"
    for seen in ({server.id: "ERROR"}, {}):
        monkeypatch.setattr(world.driver, "statuses", lambda servers, seen=seen: seen)
        assert world.cloud.why_silent(OWNER, QUEUE) == "server 'web' has ended by itself"
        assert world.cloud.why_silent(Owner("project", "other"), QUEUE) is None
    world.cloud.close()


def _broken(queue: str, lines: int) -> tuple[str, str]:
    raise CloudError("Nova is away")


@pytest.mark.parametrize(
    ("console", "whose", "ends"),
    [
        (
            lambda queue, lines: ("web", "line 1\nKernel panic\n"),
            "of server 'web'",
            "ends with:\nline 1\nKernel panic\n",
        ),
        (_broken, "with the queue 'eenv-hone'", "the console of its server cannot be read: Nova is away"),
    ],
)
def test_an_agent_that_never_comes_is_told_with_the_console_of_its_server(
    monkeypatch: pytest.MonkeyPatch, console: Callable[[str, int], tuple[str, str]], whose: str, ends: str
) -> None:
    deadlines = "vetro.engine.host.agent_watch."
    monkeypatch.setattr(deadlines + "GLANCE", 0.01)
    monkeypatch.setattr(deadlines + "WAITS", 0.03)
    servers = Unwatched()
    asked = queue.Queue[str]()
    monkeypatch.setattr(servers, "connected", lambda name: asked.put(name) or name == "there", raising=False)
    monkeypatch.setattr(servers, "console", console, raising=False)
    agents = Agents(Silence(), servers=servers)
    try:
        told = queue.Queue[Any]()
        request = Request("1", "agent.call", {**ARGS, "queue": "eenv-hone", "timeout": 600}, progress=told.put)
        agents.starters()["agent.call"](request, lambda answer, error: None)
        first = told.get(timeout=60)["report"]
        assert first == {"id": "one", "level": "info", "text": f"waits for the agent {whose}"}
        monkeypatch.setattr(deadlines + "TOO_LONG", 0.1)
        second = told.get(timeout=60)["report"]
        assert second["level"] == "warning"
        assert second["text"].startswith(f"the agent {whose} has not come for ")
        assert second["text"].endswith(ends)
        met = Request("2", "agent.call", {**ARGS, "queue": "there", "id": "2", "timeout": 600}, progress=told.put)
        agents.starters()["agent.call"](met, lambda answer, error: None)
        while asked.get(timeout=60) != "there":
            pass
        assert told.empty()
    finally:
        agents.close()


def test_who_waits_long_for_news_of_a_server_keeps_nobody_else_waiting(
    monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    """A cloud may take minutes to say that it is away; calls end at their time."""
    monkeypatch.setattr("vetro.engine.host.agent_watch.WAITS", 0.0)
    asked, over = threading.Event(), threading.Event()

    def connected(queue: str) -> bool:
        asked.set()
        return over.wait(60)

    try:
        assert call(lambda queue: None, 0.5, connected=connected) == {"timeout": 0.5}
        assert asked.is_set()
    finally:
        over.set()


def test_the_recorded_cloud_shows_consoles_and_when_agents_come(tmp_path: Path) -> None:
    world = World(tmp_path)
    channel = world.cloud.channel(OWNER)
    assert channel.connected(QUEUE) is False
    assert world.cloud.console_of(OWNER, QUEUE, 5) is None
    properties = {**SERVER["properties"], "name": "web", "user_data_format": "RAW", "user_data": DATA}
    world.push(hot({"s": {"type": SERVER["type"], "properties": properties}}))
    found = world.cloud.console_of(OWNER, QUEUE, 5)
    assert found is not None and found[0] == "web" and "nothing was started" in found[1]
    assert world.cloud.console_of(Owner("project", "other"), QUEUE, 5) is None
    assert channel.connected(QUEUE) is True
    channel.close()
    world.cloud.close()
