"""Updates with a way back as a terminal has them: interrupted, killed, taken back, and what authors want of them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path
from subprocess import Popen

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX, PATIENCE, Place, wait_for
from vetro.clouds.record.driver import RecordDriver

#: The author of the next version wants a way back, and says what there is none for.
CAREFUL = BOX.replace(
    "Extends: std:Application",
    """\
Extends: std:Application
Meta:
  - l:Update: {guard: required, settle: 0}
  - l:NotRestorable: {what: the box in the shop window}""",
).replace("{=: t, ", "{=: t, l: io.vetro.lifecycle, ")
REQUIRE = "Require: {io.vetro: 1}\n"


@pytest.fixture
def place(here: Path) -> Place:
    """A box that is deployed; a command that writes another text on it takes for ever, once."""
    found = Place(here)
    found.deploy("--script", found.script(plans=[{"script": "*second*", "never": True, "times": 1}]))
    return found


def guarded(place: Place) -> list[str]:
    """The arguments of an update of the box."""
    return ["deploy", str(place.package), "--env", "e", "--guard", "--set", "text=second"]


def in_the_middle(place: Place, process: Popen[str]) -> None:
    """Waits until the server has got what takes for ever."""

    def there() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return place.plans().count("Write text") == 2

    wait_for(there, "the command is sent")


def as_before(place: Place) -> None:
    """It says the first text again, and is free."""
    assert place.status() == "ready"
    shown = place.ok("env", "show", "e", "--model", "-1").output
    assert "text: first" in shown and "second" not in shown
    assert [one["kind"] for one in place.data("env", "history", "e")][-1] == "undo"


def killed(place: Place) -> None:
    """The command that updates the box is killed in the middle, with all that it started."""
    kept = set(place.processes())
    with place.start(*guarded(place)) as process:
        in_the_middle(place, process)
        kill(place, process, kept)


def kill(place: Place, process: Popen[str], kept: Collection[int]) -> None:
    """Kills a command; what it started ends, too. ``kept``: what ran before."""
    process.kill()
    process.wait(PATIENCE)
    wait_for(lambda: set(place.processes()) <= set(kept), "all processes end")


@pytest.mark.campaign
def test_ctrl_c_takes_the_update_back(place: Place) -> None:
    with place.start(*guarded(place)) as process:
        in_the_middle(place, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, said
    assert "cancelled by Ctrl-C" in said and "state 3 is state 1 again" in said
    as_before(place)


@pytest.mark.campaign
def test_a_second_ctrl_c_leaves_it_to_be_resumed(place: Place) -> None:
    """Wherever it hits the way back: whoever goes on comes to the same end."""
    with place.start(*guarded(place)) as process:
        in_the_middle(place, process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        said = ""
        while "cancelling; press Ctrl-C again to leave it" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode in (1, 130)
    if place.status() == "interrupted":
        assert "is as it was before the update" in place.run("env", "resume", "e").output
    as_before(place)


@pytest.mark.campaign  # the service's part: tests/server/procedures/test_kills.py
def test_who_was_killed_leaves_an_update_that_is_told_and_taken_back(place: Place) -> None:
    killed(place)
    assert place.status() == "interrupted"
    shown = place.ok("env", "show", "e").output
    assert "interrupted while deploying; vetro env resume e goes on, vetro env undo e takes it back" in shown
    assert place.data("env", "show", "e")["update"]["step"] == "deploying"
    for command in (guarded(place), ["env", "deploy", "e"], ["env", "destroy", "e", "--yes"], ["upgrade", "e"]):
        said = place.refused(*command)
        assert "SRV437" in said and "vetro env resume e" in said
    assert "gets its disk of then" in place.ok("env", "undo", "e", "--plan").output
    assert "state 3 is state 1 again" in place.ok("env", "undo", "e", "--yes").output
    as_before(place)
    assert place.data("env", "show", "e")["update"] is None
    assert "is deployed" in place.ok(*guarded(place)).output  # the next one goes through
    assert place.plans().count("Write text") == 3


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["resume", "cancel", "abandon"])
def test_who_was_killed_can_go_on(place: Place, how: str) -> None:
    """Resuming waits for the answer that never comes; so it is cancelled, given up, or ended while it is resumed."""
    killed(place)
    if how == "abandon":
        place.ok("env", "destroy", "e", "--abandon", "--yes")
        assert place.data("env", "list") == []
        return
    if how == "cancel":
        assert "is as it was before the update" in place.run("env", "resume", "e", "--cancel").output
    else:
        with place.start("env", "resume", "e") as process:
            wait_for(lambda: place.status() == "deploying", "it goes on")
            wait_for(lambda: "deploying" in (place.data("env", "show", "e")["update"] or {}).get("step", ""), "it does")
            os.killpg(process.pid, signal.SIGINT)
            said, _ = process.communicate(timeout=PATIENCE)
            assert "is as it was before the update" in said
    as_before(place)


@pytest.mark.campaign
def test_who_was_killed_while_it_settles_or_goes_back(place: Place) -> None:
    """The same at other moments: while all is looked at, and on the way back."""
    command = ["deploy", str(place.package), "--env", "e", "--guard", "--set", "size=4", "--settle", "1h"]

    kept = set(place.processes())

    def step() -> str:
        return str((place.data("env", "show", "e")["update"] or {}).get("step"))

    with place.start(*command) as process:
        wait_for(lambda: process.poll() is not None or step() == "settling", "it settles")
        kill(place, process, kept)
    assert place.status() == "interrupted" and step() == "settling"
    assert "interrupted while settling" in place.ok("env", "show", "e").output
    assert "stays as it is" in place.ok("env", "keep", "e").output
    assert place.status() == "ready"
    with place.start(*command[:-4], "--set", "size=5", "--hold", "1h") as process:
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
    assert "can be taken back until" in said and place.status() == "ready"
    assert "can be taken back until" in place.ok("env", "show", "e").output
    with place.start("env", "undo", "e", "--yes") as process:
        wait_for(lambda: process.poll() is not None or step() in ("restoring", "releasing"), "it goes back")
        kill(place, process, kept)
    if place.status() == "interrupted":
        place.run("env", "resume", "e")
    assert "size: 4" in place.ok("env", "show", "e", "--model", "-1").output
    assert place.status() == "ready"


@pytest.fixture
def careful(place: Place) -> Path:
    """The next version of the box, whose author wants a way back."""
    return write_package(place.folder / "box-2", {"t.Box": CAREFUL}, version="2.0.0", extra=REQUIRE)


def test_what_does_not_come_back_is_confirmed(place: Place, careful: Path) -> None:
    """An author wants a way back: without one, and without a word for what has none, nothing is begun."""
    upgrade = ["upgrade", "e", "--to", str(careful), "--set", "box.text=third"]
    said = place.refused(*upgrade, "--no-guard")
    assert "SRV614" in said and "leave --no-guard out" in said
    said = place.refused(*upgrade)
    assert "does not come back: the box in the shop window" in said
    assert "SRV613" in said and "--confirm" in said
    assert "nothing was changed" in place.ok(*upgrade, "--plan").output
    assert place.status() == "ready" and len(place.data("env", "history", "e")) == 1
    said = place.ok(*upgrade, "--confirm").output
    assert "does not come back: the box in the shop window" in said and "is deployed" in said
    assert [one["kind"] for one in place.data("env", "history", "e")] == ["deploy", "deploy"]


def test_servers_are_stopped_before_where_an_author_wants_that(here: Path) -> None:
    place = Place(here)
    text = CAREFUL.replace("guard: required, settle: 0", "consistent: true")
    place.package = write_package(here / "box-still", {"t.Box": text}, extra=REQUIRE)
    place.deploy()

    def calls() -> list[str]:
        with contextlib.closing(RecordDriver(place.root / "cloud")) as driver:
            return [what for what, *_ in driver.calls()]

    before = calls()
    assert "'e' is deployed" in place.ok(*guarded(place)).output
    made = calls()[len(before) :]
    assert made[:3] == ["stop server", "take snapshot", "start server"]


def test_who_exchanges_packages_does_not_get_around_it(place: Place) -> None:
    """`vetro deploy` with the folder of another version is an update of what runs, too."""
    later = write_package(place.folder / "box-1-1", {"t.Box": CAREFUL}, version="1.1.0", extra=REQUIRE)
    command = ["deploy", str(later), "--env", "e", "--set", "text=third"]
    assert "SRV614" in place.refused(*command, "--no-guard")
    assert "SRV613" in place.refused(*command)
    said = place.ok(*command, "--confirm").output
    assert "keeping everything as it is" in said
    # From then on the environment has that version: what changes is not its classes.
    assert "keeping everything" not in place.ok(*command[:-1], "text=fourth", "--no-guard").output
