"""The same model and the same lock give the same plan, to the letter, in another workspace."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.cli.deploykit import Place

#: What of an archive says when and under which numbers it was made.
HEAD = "environment.json"


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def elsewhere(place: Place, name: str) -> Place:
    folder = place.folder / name
    folder.mkdir()
    made = Place.__new__(Place)
    made.folder, made.root, made.package = folder, folder / "workspace", place.package
    return made


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != HEAD}


@pytest.mark.campaign  # two workspaces; that a plan made twice is the same is tried in tests/server/tasks/test_plan.py
def test_an_import_with_its_ids_is_planned_to_the_letter(place: Place) -> None:
    place.deploy("--set", "text=one")
    data = place.folder / "e.zip"
    place.ok("env", "export", "e", "--out", str(data))
    plans, locks, archives = [], [], []
    for name in ("first", "second"):
        there = elsewhere(place, name)
        there.ok("env", "import", str(data), "--fresh", "--keep-ids")
        plans.append(there.ok("plan", "e", "--output", "json").stdout)
        assert there.ok("plan", "e", "--output", "json").stdout == plans[-1]
        locks.append(there.ok("env", "lock", "e", "--output", "json").stdout)
        there.ok("env", "export", "e", "--out", str(there.folder / "e.zip"))
        archives.append(parts(there.folder / "e.zip"))
    assert plans[0] == plans[1] and "OS::Nova::Server" in plans[0]
    assert locks[0] == locks[1] and archives[0] == archives[1]
    ids = [place.data("env", "show", "e")["id"]]
    ids.append(there.data("env", "show", "e")["id"])
    assert ids[0] == ids[1]
    # Not where they are somebody's, nor where it would mean nothing.
    assert "is here, or was" in place.refused("env", "import", str(data), "--fresh", "--keep-ids", "--name", "other")
    assert there.run("env", "import", str(data), "--keep-ids").exit_code == 2
