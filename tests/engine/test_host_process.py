"""The effects host in a process of its own: settings over the pipe, its death, its end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.faults.harness import OWNER
from tests.faults.world import World, WorldCloud
from vetro.clouds.kinds import KindMissing
from vetro.engine.host.answer import HostConfigError
from vetro.engine.host.config import build_host
from vetro.engine.host.forker import HostForker
from vetro.engine.host.process import HostProcess
from vetro.engine.worker.ports import HostUnavailable
from vetro.engine.worker.stream import Stream

ROOT = Path(__file__).parents[2]


def make_world(settings: Mapping[str, Any], owner: Any) -> WorldCloud:
    """For the setting ``cloud.kind``."""
    assert owner == OWNER
    path = Path(settings["path"])
    return WorldCloud(path)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return {
        "cloud": {"kind": "tests.engine.test_host_process:make_world", "path": str(tmp_path / "world.db")},
        "owner": {"project": "p", "environment": "1"},
        "signing_key": str(tmp_path / "key.pem"),
        "secrets": [Fernet.generate_key().decode()],
    }


@pytest.fixture
def process(config: dict[str, Any]) -> Iterator[HostProcess]:
    with HostForker() as forker, HostProcess(config, forker) as made:
        yield made


def ask(stream: Stream, key: str, kind: str, **args: Any) -> dict[str, Any]:
    stream.send({"t": "perform", "key": key, "kind": kind, "args": args, "adopt": False, "begun": time.time()})
    return next_message(stream)


def next_message(stream: Stream) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    while not found and not stream.closed:
        assert select.select([stream], [], [], 20)[0]
        found = stream.receive()
    return found[0] if found else {"t": "closed"}


def test_it_performs_and_dies_and_performs_again(process: HostProcess, tmp_path: Path) -> None:
    process.start()
    stream = Stream(process.fileno())
    call = {"queue": "e1-h1", "listener": "-execution-results-x", "id": "i", "plan": {"Name": "p"}, "timeout": 10}
    assert ask(stream, "1", "agent.call", **call)["answer"]["result"]["Body"] == "ran p"
    assert "BEGIN RSA PUBLIC KEY" in ask(stream, "2", "agent.key")["answer"]
    error = ask(stream, "3", "secret", data="nothing")["error"]
    assert (error["code"], error["names"][0]) == ("ENG322", "KeyError")
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert next_message(stream) == {"t": "closed"}
    stream.close()
    process.start()
    assert process.pid != first
    stream = Stream(process.fileno())
    assert ask(stream, "1", "agent.call", **call)["answer"]["result"]["Body"] == "ran p"
    stream.send({"t": "stored", "key": "1"})
    ask(stream, "4", "clock")  # it takes messages in order
    world = World(tmp_path / "world.db")
    assert world.done("run") == ["p"]
    assert world.waiting() == []
    stream.close()


def test_it_ends_with_its_worker(config: dict[str, Any], tmp_path: Path) -> None:
    program = (
        "import json, os, sys\n"
        "from vetro.engine.host.process import HostProcess\n"
        "from vetro.engine.host.forker import HostForker\n"
        "host = HostProcess(json.loads(sys.argv[1]), HostForker())\n"
        "host.start()\n"
        "print(host.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    import json

    ended = subprocess.run([sys.executable, "-c", program, json.dumps(config)], capture_output=True, text=True)
    pid = int(ended.stdout)
    until = time.monotonic() + 20
    while time.monotonic() < until and _lives(pid):
        time.sleep(0.01)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cloud": None}, "'cloud'"),
        ({"cloud": {"kind": "moon"}}, "no cloud of kind 'moon'"),
        ({"cloud": {"kind": "no.such:thing"}}, "cannot be loaded"),
        ({"owner": {"project": "p"}}, "'owner'"),
        ({"owner": None}, "'owner'"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"broker": {"colour": "red"}}, "'broker'"),
        ({"secrets": ["short"]}, "sealed with"),
    ],
)
def test_settings_that_are_wrong_are_named(config: dict[str, Any], change: dict[str, Any], text: str) -> None:
    with pytest.raises((HostConfigError, KindMissing), match=text):
        build_host({**config, **change})


def test_a_host_that_cannot_begin_says_why(config: dict[str, Any]) -> None:
    with HostForker() as forker:
        process = HostProcess({**config, "cloud": {"kind": "moon"}}, forker)
        with pytest.raises(HostUnavailable, match="no cloud of kind 'moon'"):
            process.start()
        assert process.pid is None
        process.stop()
