"""`vetro env` over files that are damaged, and decisions about effects whose end nobody knows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import PATIENCE, Place, wait_for
from vetro.engine.workspace import Workspace

#: A plug-in with one effect that must not be done twice. It says in a file that it begins, and waits the first time.
PLUGIN = """
import os, pathlib, time
from vetro.packages.plugin_api import effect, expose

@effect(policy="unsafe")
def launch(code):
    log = pathlib.Path(os.environ["LAUNCHES"])
    with log.open("a") as file:
        file.write(code + "\\n")
    if os.environ.get("SILENT"):
        time.sleep(1000)
    return "launched " + code

class Rocket:
    @staticmethod
    def launch(code):
        return launch(code)
"""
PAD = """\
Namespaces: {=: t, std: io.murano, rocket: test.rocket}
Name: Pad
Extends: std:Application
Properties:
  said: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
      - If: $.said = null
        Then:
          - $.said: rocket:Rocket.launch(apollo)
"""


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


class Launches:
    """The plug-in, installed for the processes of a test, and an environment whose task died in its effect."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = Place(folder)
        site = folder / "site"
        info = site / "test_rocket-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-rocket\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[io.murano.extensions]\ntest.rocket.Rocket = test_rocket:Rocket\n")
        (site / "test_rocket.py").write_text(PLUGIN)
        self.log = folder / "launches"
        self.pad = write_package(folder / "pad", {"u.Pad": PAD.replace("=: t", "=: u")}, name="u",
                                 extra="Require: {test-rocket: 0}\n")  # fmt: skip
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")])))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setenv("LAUNCHES", str(self.log))
        monkeypatch.setenv("SILENT", "1")
        command = ["deploy", str(self.pad), "--env", "e", "--driver", "record"]
        with self.place.start(*command) as process:

            def launched() -> bool:
                assert process.poll() is None, process.communicate()[0]
                return self.log.exists()

            wait_for(launched, "the effect has begun")
            process.kill()
            process.wait(PATIENCE)
            wait_for(lambda: not self.place.processes(), "all processes end")
        monkeypatch.delenv("SILENT")

    @property
    def count(self) -> int:
        return len(self.log.read_text().splitlines())

    def key(self) -> str:
        """Resumes; the key that the command asks about."""
        said = self.place.refused("env", "resume", "e")
        assert "waiting for a decision" in said and "vetro env resolve e KEY --done|--redo" in said
        line = next(line for line in said.splitlines() if "plugin:test-rocket:launch" in line)
        assert "apollo" in line
        return line.split()[0]


@pytest.fixture
def launches(here: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(here, monkeypatch)


def test_an_effect_that_was_done_is_not_done_again(launches: Launches) -> None:
    place, key = launches.place, launches.key()
    assert launches.key() == key  # asked as often as one likes
    assert "no effect" in place.refused("env", "resolve", "e", "0/99", "--done")
    assert "'vetro env resume e' goes on" in place.ok("env", "resolve", "e", key, "--done").output
    place.ok("env", "resume", "e")
    assert (launches.count, place.status()) == (1, "ready")
    (pad,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert pad["said"] is None  # it was done, and its answer is lost


def test_an_effect_that_was_not_done_is_done(launches: Launches) -> None:
    place = launches.place
    place.ok("env", "resolve", "e", launches.key(), "--redo")
    place.ok("env", "resume", "e")
    assert (launches.count, place.status()) == (2, "ready")
    (pad,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert pad["said"] == "launched apollo"
    assert "no interrupted task" in place.refused("env", "resolve", "e", "x", "--done")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "x", "kind": "deploy", "model": {}, "colour": 1}'])
def test_a_damaged_task_can_be_given_up(place: Place, content: str) -> None:
    place.deploy()
    folder = Workspace(place.root).get("e")
    path = folder.path / "tasks" / "2" / "task.json"
    path.parent.mkdir()
    path.write_text(content)
    assert place.status() == "interrupted"
    assert place.data("env", "show", "e")["tasks"][1] == {
        "number": 2, "kind": "damaged", "method": None, "state": "open",
    }  # fmt: skip
    assert place.reports()
    for command in (["resume", "e"], ["resolve", "e", "0/1", "--done"]):
        said = place.refused("env", *command)
        assert "task.json is damaged" in said and "vetro env resume e --abandon" in said
    assert "vetro env resume e" in place.refused("env", "deploy", "e")

    said = place.ok("env", "resume", "e", "--abandon").output
    assert "task 2 is given up" in said and "the model before it" in said
    assert place.status() == "abandoned"
    place.ok("env", "deploy", "e")
    assert place.status() == "ready"
    place.ok("env", "destroy", "e")
    assert place.servers() == []


def test_a_task_that_is_given_up_leaves_its_checkpoint(place: Place) -> None:
    """A task that has a checkpoint is not forgotten with it: what was made is still destroyed in the end."""
    from vetro.engine.worker.sqlite_journal import SqliteJournal
    from vetro.engine.workspace.running import new_task

    place.deploy()
    folder = Workspace(place.root).get("e")
    task = new_task(folder, "deploy", folder.model().model)
    folder.begin(task)
    seen = json.loads(json.dumps(folder.model().model))
    seen["Objects"]["applications"][0]["text"] = "seen"
    journal = SqliteJournal(folder.journal, task.id)
    journal.begin(task.as_json(), task.engine, 0.0)
    journal.checkpoint(seen, 0.0)
    journal.commit()
    journal.close()
    (folder.path / "tasks" / "2" / "task.json").write_text("{")
    assert "its last checkpoint" in place.ok("env", "resume", "e", "--abandon").output
    assert place.data("env", "show", "e", "--model", "-1") == seen
    assert "no interrupted task" in place.ok("env", "resume", "e", "--abandon").output


def test_a_damaged_outcome_hides_nothing(place: Place) -> None:
    place.deploy()
    (Workspace(place.root).get("e").path / "tasks" / "1" / "outcome.json").write_text("[]")
    assert place.status() == "damaged"
    (task,) = place.data("env", "show", "e")["tasks"]
    assert task == {"number": 1, "kind": "deploy", "method": None, "state": "damaged"}
    place.ok("env", "deploy", "e")
    assert place.status() == "ready"
