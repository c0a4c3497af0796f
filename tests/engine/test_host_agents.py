"""The effects host and agents: calls, time-outs, signatures, channels that break, receivers."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.hosts import LISTENER, Answers, call
from tests.faults.harness import OWNER, make_host
from tests.faults.world import World, WorldChannel, WorldCloud
from vetro.agent.signing import ensure_key
from vetro.clouds.messages import Message
from vetro.engine.host.agents import Agents
from vetro.engine.host.answer import Request
from vetro.engine.host.performer import EffectsHost


def test_a_call_is_acknowledged_when_it_is_stored(host: EffectsHost, world: World) -> None:
    answers = Answers()
    host.begin(Request("1", "agent.call", call("i")), answers)
    assert answers.get("1")[0]["result"]["Body"] == "ran p"
    assert world.waiting() == ["i"]
    host.stored("1")
    assert world.waiting() == []


def test_a_call_that_is_adopted_runs_nothing_again(tmp_path: Path, world: World) -> None:
    first, answers = make_host(tmp_path), Answers()
    first.begin(Request("1", "agent.call", call("i")), answers)
    answers.get("1")
    first.close()  # it dies before the result is stored
    second, answers = make_host(tmp_path), Answers()
    second.expect(["i"])
    second.perform("0", "agent.listen", {"queue": LISTENER, "on": True})
    second.perform("2", "agent.call", call("j", "q"))  # its receiver has met the answer to i
    second.begin(Request("1", "agent.call", call("i"), adopt=True, begun=0.0), answers)
    assert answers.get("1")[0]["result"]["Body"] == "ran p"
    second.stored("1")
    assert world.done("run") == ["p", "q"]
    assert world.waiting() == []
    second.close()


def test_time_outs_and_what_comes_too_late(host: EffectsHost, world: World, tmp_path: Path) -> None:
    assert host.perform("1", "agent.call", call("late", "silent", timeout=0.05)) == {"timeout": 0.05}
    row = (LISTENER, "late", json.dumps({"SourceID": "late"}))
    world._db.execute("INSERT INTO answers (queue, id, body) VALUES (?, ?, ?)", row)
    world._db.execute("INSERT INTO answers (queue, id, body) VALUES (?, 'junk', 'no json')", (LISTENER,))
    assert host.perform("2", "agent.send", call("s", "sent")) is None
    # The answer to the next call comes after them: they were dropped for good.
    host.perform("3", "agent.call", call("i"))
    assert world.waiting() == []
    assert world.done("run") == ["sent", "p"]


def test_an_old_agent_answers_without_source(tmp_path: Path) -> None:
    """AGENT.md 5: the message's id is that of the plan."""

    class Old(WorldChannel):
        def receive(self, queue: str, timeout: float) -> Message | None:
            found = super().receive(queue, timeout)
            return found and Message(found.id, '{"IsException": false, "Result": []}')

    path = tmp_path / "world.db"
    host = EffectsHost(WorldCloud(path), Old(path), OWNER)
    assert host.perform("1", "agent.call", call("i")) == {"result": {"IsException": False, "Result": []}}
    host.close()


def test_plans_are_signed_for_their_queue(tmp_path: Path) -> None:
    sent: list[tuple[str, Message]] = []

    class Seen(WorldChannel):
        def send(self, queue: str, message: Message) -> None:
            sent.append((queue, message))

    key = ensure_key(tmp_path / "key.pem")
    agents = Agents(Seen(tmp_path / "world.db"), key)
    agents.handlers()["agent.send"](Request("1", "agent.send", call("i", plan={"Name": "ä"})))
    ((queue, message),) = sent
    assert (queue, message.id, message.reply_to) == ("e1-h1", "i", LISTENER)
    assert json.loads(message.body) == {"Name": "ä"}
    assert message.signature == key.sign("e1-h1", message.body)
    assert agents.handlers()["agent.key"](Request("2", "agent.key", {})) == key.public_pem()
    agents.close()


def test_a_channel_that_breaks_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.engine.host.agents._LOOK", 0.01)
    broken = [3]

    class Breaking(WorldChannel):
        def receive(self, queue: str, timeout: float) -> Message | None:
            if broken[0]:
                broken[0] -= 1
                raise OSError("the broker has gone")
            return super().receive(queue, timeout)

    path = tmp_path / "world.db"
    host = EffectsHost(WorldCloud(path), Breaking(path), OWNER)
    assert host.perform("1", "agent.call", call("i"))["result"]["Body"] == "ran p"
    host.close()


def test_receivers_end_when_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.engine.host.agents._LOOK", 0.01)
    host = make_host(tmp_path)
    host.perform("1", "agent.listen", {"queue": LISTENER, "on": True})

    def receivers() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t.name == f"agent answers {LISTENER}"]

    (thread,) = receivers()
    host.perform("2", "agent.listen", {"queue": LISTENER, "on": False})
    thread.join(10)
    assert not thread.is_alive()
    host.perform("3", "agent.call", call("i"))  # listens by itself
    host.close()
    for thread in receivers():
        thread.join(10)
    assert not receivers()


def test_many_waiting_effects_hold_up_nobody(host: EffectsHost) -> None:
    answers: Callable[..., None] = Answers()
    for number in range(200):
        host.begin(Request(f"s{number}", "sleep", {"seconds": 1000}), answers)
    host.begin(Request("last", "agent.call", call("i")), answers)
    assert answers.get("last")[0]["result"]["Body"] == "ran p"  # type: ignore[attr-defined]
    host.close(10)
    assert os.getpid()
