"""`vetro env export|import` and `vetro cloud clean` on this machine: what counts as deployed is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

SCRIPTS = ["Install", "Configure", "Write text"]


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def exported(place: Place) -> str:
    return place.ok("env", "export", "e", "--out", str(place.folder / "e.zip")).stdout.strip()


def test_a_copy_that_would_count_as_deployed_is_refused(place: Place) -> None:
    place.deploy("--set", "text=copied")
    file = exported(place)
    said = place.refused("env", "import", file, "--name", "copy")
    assert "those of the environment that is here already" in " ".join(said.split())
    assert "--fresh" in said
    assert [env["name"] for env in place.data("env", "list")] == ["e"]

    other = Place(place.folder / "elsewhere")
    assert "they are not in this one" in " ".join(other.refused("env", "import", file).split())
    assert other.data("env", "list") == []


def test_a_fresh_copy_is_new_and_deploys(place: Place) -> None:
    place.deploy("--set", "text=copied", "--set", "options={colour: red, tags: [e]}")
    place.ok("env", "action", "e", "open")
    file = exported(place)
    for target in (place, Place(place.folder / "elsewhere")):
        before = len(target.plans())
        assert "'vetro env deploy copy' does it" in target.ok("env", "import", file, "--name", "copy", "--fresh").stderr
        assert target.status("copy") == "new"
        assert target.data("history", "copy") == []
        target.ok("env", "deploy", "copy")
        assert target.plans()[before:] == SCRIPTS
        (app,) = target.data("env", "show", "copy", "--model", "-1")["Objects"]["applications"]
        assert (app["text"], app["options"]["tags"], app["opened"]) == ("copied", ["e"], 0)
    mine, copy = (place.data("env", "show", name)["components"][0] for name in ("e", "copy"))
    assert (mine["component"], copy["component"]) == ("box", "box")
    assert mine["addresses"] != copy["addresses"]


def test_it_comes_back_as_itself(place: Place) -> None:
    place.deploy()
    file = exported(place)
    shutil.copytree(place.root / "cloud", place.folder / "kept")
    place.ok("env", "destroy", "e", "--abandon", "--yes")  # of a simulated environment nothing is left behind
    shutil.rmtree(place.root / "cloud")
    shutil.copytree(place.folder / "kept", place.root / "cloud")
    place.ok("env", "import", file)
    place.deploy()
    assert place.plans() == SCRIPTS  # it is there, so nothing is done again


def test_without_resources_a_copy_may_count_as_deployed(place: Place) -> None:
    plain = {"t.Plain": "Namespaces: {=: t, std: io.murano}\nName: Plain\nExtends: std:Application\n"}
    package = write_package(place.folder / "plain", plain)
    place.ok("deploy", str(package), "--env", "e", "--driver", "record", "-q")
    place.ok("env", "import", exported(place), "--name", "copy")
    assert place.status("copy") == "ready"
    place.ok("env", "deploy", "copy")


@pytest.mark.campaign
def test_after_a_cleaned_cloud_everything_is_made_anew(place: Place) -> None:
    place.deploy("--set", "text=kept")
    place.ok("env", "action", "e", "open")
    assert "environment 'e' is not deployed any more" in place.ok("cloud", "clean", "--yes").stderr
    assert place.status() == "new"
    assert [row["kind"] for row in place.data("history", "e")] == ["deploy", "open"]
    place.ok("env", "deploy", "e")
    assert place.plans() == SCRIPTS  # the recorder was cleaned, too
    assert (place.status(), place.servers()) == ("ready", ["e-1"])
    (app,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert (app["text"], app["opened"]) == ("kept", 0)
    assert "box --text kept" in str(place.recorded()[-1].body)
    place.ok("cloud", "clean", "--yes")
    place.ok("env", "destroy", "e", "--yes")


def test_an_empty_environment_is_copied_as_one(place: Place) -> None:
    place.deploy()
    place.ok("env", "destroy", "e", "--keep", "-q", "--yes")
    place.ok("env", "import", exported(place), "--name", "copy", "--fresh")
    assert place.data("env", "show", "copy", "--model", "-1")["Objects"]["applications"] == []
    assert place.status("copy") == "new"


@pytest.mark.campaign  # the service's part: tests/server/environments/test_lock_transfer.py
def test_a_lock_and_a_plan_are_the_same_elsewhere(place: Place) -> None:
    """Export here, import there, in two other workspaces. Copies have new ids, and names that are made of them."""
    place.deploy("--set", "text=copied")
    file = exported(place)
    locks, plans = [place.data("env", "lock", "e")["digest"]], []
    for name in ("second", "third"):
        other = Place(place.folder / name)
        other.ok("env", "import", file, "--name", "copy", "--fresh")
        plan = re.sub(r"\b[0-9a-f]{32}\b|murano-\S+", "ID", other.ok("plan", "copy").stdout)
        plans.append(sorted(re.findall(r"[^\s,']+", plan)))  # stacks and resources are in the order of their names
        other.ok("env", "deploy", "copy")
        locks.append(other.data("env", "lock", "copy")["digest"])
    assert len(set(locks)) == 1
    assert plans[0] == plans[1] and {"Write", "boot_config-e-1"} <= set(plans[0])
