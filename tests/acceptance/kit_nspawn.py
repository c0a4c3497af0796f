"""A workspace with real servers, and what it has on this machine."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.deploykit import Place
from tests.support.servers import images_in, real_servers, traces
from vetro.clouds.nspawn.links import cloud_id

EXAMPLES = Path(__file__).parents[2] / "examples" / "deploy"
#: Two servers that say who they are.
TWINS = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Twins
Extends: std:Application
Properties:
  here: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  there: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  heard: {Contract: [$.string()], Usage: Out}
Methods:
  deploy:
    Body:
      - $.here.deploy()
      - $.there.deploy()
      - $.heard: list($.here, $.there).select(conf:Linux.runCommand($.agent, hostname).stdout)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> Iterator[Place]:
    """A workspace whose servers are real; afterwards nothing of it is left on this machine."""
    monkeypatch.chdir(tmp_path)
    place = Place(tmp_path)
    with images_in(real_servers().folder), django_db_blocker.unblock():  # the workspace brings a database of its own
        try:
            yield place
        finally:
            place.run("cloud", "clean", "--yes")
        assert not any(used(place).values()), "cleaning left something behind"


def cloud_of(place: Place) -> str:
    """The short name in everything that belongs to the workspace's servers."""
    return cloud_id(place.root / "cloud" / "nspawn")


def used(place: Place) -> dict[str, int]:
    """How many mounts, interfaces, groups, processes… the workspace has on this machine."""
    return {what: len(found) for what, found in traces(cloud_of(place), place.root).items()}


def answer(url: str) -> str:
    """What a server answers over HTTP."""
    end = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as said:
                return str(said.read().decode())
        except OSError:
            assert time.monotonic() < end, url
            time.sleep(0.1)
