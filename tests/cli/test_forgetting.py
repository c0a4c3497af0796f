"""What a simulated environment was told is dropped with it: its passwords are in no file afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place
from tests.cli.test_realize import builds, image

__all__ = ["image"]

SECRET = "tuesday-Horse-41"
SAFE = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Safe
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  password: {Contract: $.string().notNull()}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - conf:Linux.runCommand($.instance.agent, format('safe --password {0}', $.password), 'Lock')
"""


def holders(folder: Path, text: str = SECRET) -> list[str]:
    """The files below a folder that have a text."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and text.encode() in path.read_bytes():
            found.append(str(path.relative_to(folder)))
    return found


@pytest.fixture
def place(here: Path) -> Place:
    made = Place(here)
    made.package = write_package(here / "safe", {"t.Safe": SAFE})
    return made


def deployed(place: Place, name: str) -> None:
    place.deploy("--set", f"password={SECRET}-{name}", env=name)
    kept = holders(place.root, f"{SECRET}-{name}")
    assert kept and all(path.startswith("cloud/") for path in kept), "only the recorder has it"


@pytest.mark.parametrize(
    "how",
    [
        "destroy --yes",
        # As the one before them.
        pytest.param("destroy --yes --keep", marks=pytest.mark.campaign),
        pytest.param("destroy --yes --abandon", marks=pytest.mark.campaign),
        pytest.param("realize", marks=pytest.mark.campaign),
    ],
)
def test_nothing_of_it_stays_in_a_file(place: Place, image: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builds(image, monkeypatch)
    deployed(place, "other")
    deployed(place, "e")
    place.ok("env", *how.split(), "e")
    # What the other cloud was told is its own: it has servers.
    left = [path for path in holders(place.root, f"{SECRET}-e") if not path.startswith("cloud/moon/")]
    assert left == []
    assert "cloud/record.db" in holders(place.root, f"{SECRET}-other")
    assert len(place.recorded()) == 1
