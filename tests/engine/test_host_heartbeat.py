"""Effects hosts of a worker that stands still end, and leave the answers of agents to its successor."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.faults.world import WorldChannel, WorldCloud
from vetro.clouds.interface import Owner
from vetro.clouds.messages import Message
from vetro.engine.host import heartbeat as heartbeats
from vetro.engine.host.agents import Agents
from vetro.engine.host.answer import HostConfigError, Request
from vetro.engine.host.config import build_host
from vetro.engine.host.forker import HostForker
from vetro.engine.host.frame_server import Service
from vetro.engine.host.heartbeat import Heartbeat, beat, moment
from vetro.engine.host.performer import EffectsHost
from vetro.engine.host.process import HostProcess
from vetro.frames import encode

OWNER = {"project": "p", "environment": "e", "user": "u"}


def test_a_worker_is_heard_of_for_a_while(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path / "heartbeat", 60.0)
    assert heartbeat.silence() == float("inf") and not heartbeat.lives()
    beat(heartbeat.path)
    assert heartbeat.lives()
    beat(heartbeat.path, moment() - 59.0)
    assert heartbeat.lives() and heartbeat.silence() > 58.0
    beat(heartbeat.path, moment() - 61.0)
    assert not heartbeat.lives()
    assert len(heartbeat.path.read_bytes()) == 21  # written in place: each time as long
    heartbeat.path.write_text("nonsense")
    assert not heartbeat.lives()


def test_answers_that_nobody_asked_for_are_the_successors(tmp_path: Path) -> None:
    """Once such an answer was acknowledged by the host of a halted worker, and the deployment waited for ever."""
    channel, queue = WorldChannel(tmp_path / "world.db"), "-execution-results-x"
    mine = [True]
    agents = Agents(channel, may_drop=lambda: mine[0])
    try:
        for number, may in enumerate((False, True)):
            mine[0] = may
            channel.send("e-h-web", Message(f"m{number}", json.dumps({"Name": f"n{number}"}), None, queue, None))
            message = channel.receive(queue, 10.0)
            assert message is not None
            agents._take(queue, message)
        assert channel.waiting() == ["m0"]
    finally:
        agents.close()


def test_a_host_that_is_ending_takes_no_answers(tmp_path: Path) -> None:
    """It waits for its cloud, with calls that are abandoned: their answers are for the host that goes on."""
    channel, queue = WorldChannel(tmp_path / "world.db"), "-execution-results-x"
    begun, ended = threading.Event(), threading.Event()

    def slow(args: Any) -> bool:
        begun.set()
        return ended.wait(60)

    effects: Any = {"test.slow": SimpleNamespace(perform=slow)}
    host = EffectsHost(WorldCloud(tmp_path / "world.db"), channel, Owner(**OWNER), effects=effects)
    plan = {"Name": "silent", "Body": "", "Action": "Execute"}
    call = {"id": "m1", "queue": "e-h-web", "listener": queue, "timeout": 60.0, "plan": plan}
    answers: list[str] = []
    host.begin(Request("0/1", "agent.call", call), lambda key, *end: answers.append(key))
    host.begin(Request("0/2", "test.slow", {}), lambda key, *end: answers.append(key))
    assert begun.wait(60)
    closing = threading.Thread(target=host.close, args=(60.0,))
    closing.start()
    while not host._agents._closed.is_set():
        time.sleep(0.001)
    channel._db.execute("INSERT INTO answers (queue, id, body) VALUES (?, 'm1', '{}')", (queue,))
    time.sleep(20 * channel.pause)
    ended.set()
    closing.join(60)
    assert not closing.is_alive()
    assert channel.waiting() == ["m1"]
    assert "0/1" not in answers


def test_a_host_ends_when_its_worker_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    beat(path)
    config = {
        "cloud": {"kind": "record", "directory": str(tmp_path / "cloud"), "settings": {}},
        "owner": OWNER,
        "heartbeat": {"path": str(path), "seconds": 0.5},
    }
    with HostForker() as forker, HostProcess(config, forker) as host:
        host.start()
        assert host._ours is not None
        host._ours.settimeout(60)
        assert host._ours.recv(1) == b""  # it has gone


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    cloud = {"kind": "record", "directory": str(tmp_path / "cloud"), "settings": {}}
    with pytest.raises(HostConfigError, match="'heartbeat'"):
        build_host({"cloud": cloud, "owner": OWNER, "heartbeat": {"path": "/x"}})
    assert heartbeats.Heartbeat.from_json(None) is None


def test_what_was_ordered_before_both_stood_still_is_not_begun() -> None:
    """A machine was paused between the commit and the order: its task is another worker's, so this must not happen."""
    heard: list[str] = []
    host: Any = SimpleNamespace(
        begin=lambda request, answered: heard.append(request.key),
        stored=heard.append,
        tell_waits=lambda tell: None,
    )
    for silence, wanted in ((0.0, ["0/1", "0/1"]), (61.0, [])):
        heard.clear()
        heartbeat: Any = SimpleNamespace(lives=lambda begun, silence=silence: silence < 60.0)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(encode({"t": "perform", "key": "0/1", "kind": "stack.push", "args": {}}))
            ours.sendall(encode({"t": "stored", "key": "0/1"}) + encode({"t": "finish"}))
            assert Service(theirs.fileno(), host, heartbeat).run() is bool(wanted)
        assert heard == wanted


def test_a_host_gets_as_long_as_a_lease_from_its_start(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path / "heartbeat", 60.0)  # nobody has written it yet
    assert heartbeat.lives(moment()) and not heartbeat.lives(moment() - 61.0)
