"""An installation for tests of workers: its nursery is told what to do, its world says what was done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.faults.world import World
from tests.support.installation import prepared
from tests.support.waiting import pauses

#: Seconds that anything may take.
PATIENCE = 60.0


class Service:
    """A data directory with everything in it, and the nursery that works there.

    ``url``: the database, where it is not SQLite. ``seconds``: how long changes of stacks take, at most.
    """

    def __init__(self, data: Path, world: Path, url: str = "", seconds: float = 0.0) -> None:
        self.data = data
        self.world = World(world)
        data.mkdir(exist_ok=True)
        if not url:
            prepared(data)
        settings = f"""
[cloud]
kind = "tests.faults.campaign.cloud:make"
settings = {{path = "{world}", seconds = {seconds / 2}, port = 0}}
[worker]
lease_seconds = 2.0
version_wait = 0.5
[database]
url = "{url}"
"""
        (data / "vetro.toml").write_text(settings)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        environ.update(VETRO_DATA=str(data), DJANGO_SETTINGS_MODULE="vetro.server.settings")
        root = str(Path(__file__).parents[2])
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environ.get("PYTHONPATH", "")]))
        self.environment = environ
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server_nursery"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, cwd=root, start_new_session=True,
        )  # fmt: skip
        try:
            assert self._read() == "ready"
            self.order("prepare")
        except BaseException:
            self.close()
            raise

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the nursery died; see its standard error"
        return json.loads(line)

    def do(self, what: str, **args: Any) -> Any:
        assert self.process.stdin is not None
        print(json.dumps({"do": what, **args}), file=self.process.stdin, flush=True)
        said = self._read()
        assert "failed" not in said, said["failed"]
        return said["answer"]

    def order(self, order: str, /, **args: Any) -> Any:
        """One of `tests.faults.server_orders`."""
        return self.do("call", function=f"tests.faults.server_orders:{order}", **args)

    def until_ended(self, ids: list[str], wanted: str | None = "done", seconds: float = PATIENCE) -> list[str]:
        """Waits for tasks; their states."""
        states: list[str] = []

        def stories() -> object:
            return [self.order("story", id=id) for id in ids]

        for _ in pauses(seconds, stories):
            states = self.order("states", ids=ids)
            if all(state not in ("queued", "running") for state in states):
                break
        assert wanted is None or states == [wanted] * len(ids), stories()
        return states

    def until_gone(self, pid: int, seconds: float = PATIENCE) -> int:
        status = None
        for _ in pauses(seconds):
            if (status := self.do("ended", pid=pid)) is not None:
                break
        return int(status)

    def stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGTERM)
        assert self.until_gone(pid) == 0

    def check(self, id: str, title: str, steps: int = 4) -> dict[str, Any]:
        """The task has done everything once and told everything once."""
        story: dict[str, Any] = self.order("story", id=id)
        assert story["state"] == "done", story
        told = [f"step {n}" for n in range(steps)]
        assert story["texts"] == ["Deployment requested", *told, "Deployment finished"]
        assert [name for name in self.world.done("run") if name.startswith(f"{title} ")] == [
            f"{title} {n}" for n in range(steps)
        ]
        assert story["applications"][0]["done"] == list(range(steps))
        return story

    def close(self) -> None:
        """Ends the nursery and what it forked."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        finally:
            self.process.stdout.close()
            self.process.kill()
            self.process.wait()
            self.world.close()
