"""Tasks of a workspace in the foreground: run, killed, continued, ended; on recorded servers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX, PATIENCE, wait_for
from tests.support import forked
from vetro.clouds.record.driver import RecordDriver

ROOT = Path(__file__).parents[3]
FIRST = ["Install", "Configure", "Write text"]


class Here:
    """A workspace, and programs that work in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.templates = folder / "templates"
        self.package = write_package(folder / "box", {"t.Box": BOX})
        self.folder = folder

    def command(self, *step: str) -> list[str]:
        return [sys.executable, "-m", "tests.server.local.program", str(self.root), str(self.templates), *step]

    def ask(self, *step: str) -> Any:
        _, _, module, *words = self.command(*step)
        done = forked.run(module, *words, env=os.environ, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def make(self, **rule: Any) -> str:
        script = self.folder / "script.yaml"
        script.write_text(yaml.safe_dump({"plans": [{"plan": "Configure", **rule}]} if rule else {}))
        session = self.ask("make", str(self.package), str(script) if rule else "")
        assert isinstance(session, str), session
        return session

    def plans(self) -> list[str]:
        if not (self.root / "cloud" / "record.db").exists():
            return []
        with contextlib.closing(RecordDriver(self.root / "cloud")) as driver:
            return [plan.name for plan in driver.plans()]

    def killed(self, session: str) -> None:
        """A deployment whose process is killed in its second effect on a server."""
        with subprocess.Popen(self.command("deploy", session), cwd=ROOT, stdout=subprocess.DEVNULL) as process:
            wait_for(lambda: self.plans() == FIRST[:2] or process.poll() is not None, "the second command is sent")
            assert self.ask("show")["status"] == "deploying"
            busy = self.ask("deploy", session)
            assert busy["raised"] == "EnvironmentBusy" and f"process {process.pid}" in busy["message"]
            process.kill()
            process.wait(PATIENCE)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


@pytest.mark.campaign
def test_nothing_is_made_before_something_is_to_stay(here: Here) -> None:
    assert here.ask("show")["raised"] == "ValueError"  # there is no environment
    assert not here.root.exists()


@pytest.mark.campaign  # each command of tests/cli does it
def test_a_deployment_is_watched_and_leaves_a_state(here: Here) -> None:
    session = here.make()
    assert here.ask("show") == {"status": "new", "applications": 0, "driver": "record", "tasks": []}
    assert here.ask("deploy", session) == ["done", None, ["Making the server", "The box says first"]]
    assert here.plans() == FIRST
    assert here.ask("show") == {"status": "ready", "applications": 1, "driver": "record", "tasks": ["done"]}


@pytest.mark.campaign
def test_killed_in_the_middle_and_continued(here: Here) -> None:
    session = here.make(delay=20)
    here.killed(session)
    assert here.ask("show")["status"] == "interrupted"
    assert here.ask("deploy", session)["raised"] == "Interrupted"
    state, error, _ = here.ask("resume")
    assert (state, error, here.plans()) == ("done", None, FIRST)  # each once
    assert here.ask("show")["status"] == "ready"


@pytest.mark.campaign
def test_what_was_interrupted_can_be_ended_or_given_up(here: Here) -> None:
    session = here.make(never=True, times=1)
    here.killed(session)
    state, message, _ = here.ask("cancel")
    assert (state, "not wanted" in message) == ("cancelled", True)
    assert here.ask("show")["status"] == "cancelled"
    assert here.plans() == FIRST[:2]


@pytest.mark.campaign
def test_a_task_that_is_given_up_frees_its_environment(here: Here) -> None:
    session = here.make(never=True, times=1)
    here.killed(session)
    assert here.ask("abandon") in (True, False)
    assert here.ask("show")["status"] == "cancelled"
