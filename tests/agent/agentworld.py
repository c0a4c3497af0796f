"""Servers for tests of the agent: the real program as a process of this user, everything in one folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.waiting import until
from vetro.agent.signing import SigningKey
from vetro.clouds.interface import Owner
from vetro.clouds.messages import Channel, Message

OWNER = Owner("project", "env1")
QUEUE = "eenv1-hserver"
RESULTS = "-execution-results-eenv1-stack"
#: Seconds a test waits for something that comes at once unless it is broken.
PATIENCE = 30.0

_stamp = [0]


def next_stamp() -> int:
    """A stamp as the engine makes them, newer than all before."""
    _stamp[0] = max(_stamp[0] + 1, int(time.time() * 10000))
    return _stamp[0]


def script_plan(text: str, *, body: str = "return s().stdout", options: Any = None, **more: Any) -> dict[str, Any]:
    """A plan with one Application script ``s``."""
    return {
        "FormatVersion": "2.0.0",
        "Name": "test",
        "Action": "Execute",
        "ID": uuid.uuid4().hex,
        "Stamp": next_stamp(),
        "Body": body,
        "Parameters": {},
        "Scripts": {"s": {"Type": "Application", "Version": "1.0.0", "EntryPoint": "f", "Options": options or {}}},
        "Files": {"f": {"Name": "s.sh", "BodyType": "Text", "Body": text}},
        "Options": {},
        **more,
    }


def body_plan(body: str, **more: Any) -> dict[str, Any]:
    """A plan without scripts."""
    return {**script_plan("", body=body), "Scripts": {}, "Files": {}, **more}


def message_of(
    plan: Mapping[str, Any] | str, *, key: SigningKey | None = None, queue: str = QUEUE, id: str | None = None
) -> Message:
    """The message that carries a plan."""
    body = plan if isinstance(plan, str) else json.dumps(plan)
    if id is None:
        id = uuid.uuid4().hex if isinstance(plan, str) else str(plan.get("ID", uuid.uuid4().hex))
    return Message(id, body, key.sign(queue, body) if key else None, RESULTS)


def wait_for(condition: Callable[[], Any]) -> Any:
    """The first true value of a condition that other processes bring about."""
    return until(condition, PATIENCE)


class AgentProcess:
    """A server: a folder with settings and storage, and the agent's process when it runs."""

    def __init__(self, folder: Path, program: Path, settings: Mapping[str, Any], **more: Any) -> None:
        self.folder = folder
        self.storage = folder / "storage"
        self._program = program
        #: The interpreter that runs it.
        self.python = sys.executable
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["[DEFAULT]", f"storage = {self.storage}", "retry_delay = 0.1"]
        lines += [f"{name} = {str(value).strip()}".replace("\n", "\n\t") for name, value in more.items()]
        lines += ["[rabbitmq]", f"input_queue = {QUEUE}", f"result_routing_key = {RESULTS}"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        (folder / "agent.conf").write_text("\n".join(lines) + "\n")

    def start(self, *arguments: str) -> AgentProcess:
        """Starts the program; what it says goes into ``agent.log``."""
        with open(self.folder / "agent.log", "ab") as log:
            self._process = subprocess.Popen(
                [self.python, str(self._program), "--config-dir", str(self.folder), *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={k: v for k, v in os.environ.items() if k not in ("HOME", "USER")} | {"PATH": "/usr/bin:/bin"},
            )
        return self

    @property
    def log(self) -> str:
        return (self.folder / "agent.log").read_text()

    def kill(self) -> None:
        """As the kernel would: no chance to tidy up."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._process = None

    def wait(self) -> int:
        """Its exit code when it ends by itself."""
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        self._process = None
        return code

    def stop(self) -> int | None:
        """Ends it politely; its exit code, or None when it does not run."""
        if self._process is None:
            return None
        self._process.terminate()
        return self.wait()


def answer(channel: Channel, results: str = RESULTS) -> dict[str, Any]:
    """The next answer, acknowledged."""
    message = channel.receive(results, PATIENCE)
    assert message is not None, "there was no answer"
    channel.acknowledge(results, message.receipt)
    found = json.loads(message.body)
    assert isinstance(found, dict)
    return found


def call(channel: Channel, plan: Mapping[str, Any] | str, **more: Any) -> dict[str, Any]:
    """Sends a plan and gives the answer."""
    channel.send(QUEUE, message_of(plan, **more))
    return answer(channel)
