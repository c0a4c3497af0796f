"""Decisions about effects whose end nobody knows, tasks that are given up, and what earlier versions left damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import PATIENCE, Place, Rocket, wait_for

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
        self.rocket = Rocket(folder)
        text = PAD.replace("=: t", "=: u")
        self.pad = write_package(folder / "pad", {"u.Pad": text}, name="u", extra=Rocket.REQUIRE)
        for name, value in self.rocket.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(self.rocket.site))
        self.rocket.silent.touch()
        command = ["deploy", str(self.pad), "--env", "e", "--driver", "record"]
        with self.place.start(*command) as process:

            def launched() -> bool:
                assert process.poll() is None, process.communicate()[0]
                return self.rocket.log.exists()

            wait_for(launched, "the effect has begun")
            process.kill()
            process.wait(PATIENCE)
            wait_for(lambda: not self.place.processes(), "all processes end")
        self.rocket.silent.unlink()

    @property
    def count(self) -> int:
        return self.rocket.launches("apollo")

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


@pytest.mark.campaign
def test_an_effect_that_was_not_done_is_done(launches: Launches) -> None:
    place = launches.place
    place.ok("env", "resolve", "e", launches.key(), "--redo")
    place.ok("env", "resume", "e")
    assert (launches.count, place.status()) == (2, "ready")
    (pad,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert pad["said"] == "launched apollo"
    assert "no interrupted task" in place.refused("env", "resolve", "e", "x", "--done")


@pytest.mark.campaign
def test_a_task_can_be_given_up(launches: Launches) -> None:
    place = launches.place
    assert place.status() == "interrupted"
    assert "vetro env resume e" in place.refused("env", "deploy", "e")
    said = place.ok("env", "resume", "e", "--abandon").output
    assert "task 1 is given up" in said and "'vetro env deploy e' starts from" in said
    assert place.status() == "cancelled"
    assert "no interrupted task" in place.ok("env", "resume", "e", "--abandon").output
    place.ok("env", "deploy", "e")
    assert (launches.count, place.status()) == (2, "ready")


@pytest.mark.campaign
def test_an_environment_of_an_earlier_version_that_is_damaged_hides_nothing(place: Place) -> None:
    place.deploy()
    folder = place.root / "environments" / "old"
    folder.mkdir(parents=True)
    (folder / "environment.json").write_text("{")
    found = place.ok("env", "list")
    assert "environment.json" in found.stderr
    assert [line.split()[:2] for line in found.stdout.splitlines()[1:]] == [["e", "ready"], ["old", "damaged"]]
    assert folder.exists()
