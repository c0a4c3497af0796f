"""An environment whose application goes to a newer version: what that version has no place for is removed (D2)."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.environments.conftest import Garden
from vetro.clouds.interface import Owner
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.settings import StackSettings
from vetro.server import setup
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import import_packages
from vetro.server.config.config import Config
from vetro.server.setup import config

pytestmark = [pytest.mark.django_db, pytest.mark.attack("data", "D2")]

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.house
Version: {version}
Name: House
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.House: House.yaml
"""

HOUSE = """\
Name: House
Namespaces: {=: test, std: io.murano, res: io.murano.resources}
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
"""

ONE = """\
  cellar: {Contract: $.class(Cellar)}
Methods:
  deploy:
    Body: $.cellar.instance.deploy()
"""

CELLAR = """\
Name: Cellar
Namespaces: {=: test, std: io.murano, res: io.murano.resources}
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
Methods:
  .destroy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'the cellar of 1.0.0 goes')
"""

TWO = """\
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'no cellar any more')
"""


def archive(version: str, rest: str, name: str = "House") -> bytes:
    buffer = io.BytesIO()
    cellar = "  test.Cellar: Cellar.yaml\n" if rest is ONE else ""
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr(
            "manifest.yaml", MANIFEST.format(version=version).replace("test.House", f"test.{name}") + cellar
        )
        target.writestr("Classes/House.yaml", (HOUSE + rest).replace("Name: House", f"Name: {name}"))
        if rest is ONE:
            target.writestr("Classes/Cellar.yaml", CELLAR)
    return buffer.getvalue()


def servers(garden: Garden) -> list[str]:
    folder = config().path("cloud.directory")
    with contextlib.closing(StackCloud(folder, RecordDriver(folder), StackSettings())) as cloud:
        return [found.name for found in cloud.servers(Owner(garden.caller.project_id, garden.id))]


@pytest.fixture
def house(planting: Callable[..., Garden], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Garden:
    """Deployed in version 1.0.0, with a server in its cellar: written down only, whatever this machine can do."""
    given = {"cloud.driver": "record", "cloud.directory": str(tmp_path / "cloud")}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    garden = planting(name="house")
    import_packages(garden.caller, [archive("1.0.0", ONE)])
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "i"}, "name": "cellar",
                "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}  # fmt: skip
    cellar = {"?": {"type": "test.Cellar/1.0.0", "id": "c"}, "instance": instance}
    session = garden.open()
    garden.put(session, {"?": {"type": "test.House/1.0.0", "id": "h"}, "name": "h", "cellar": cellar})
    task = garden.deploy(session)
    assert task.state == "done", task.error
    assert servers(garden) == ["cellar"]
    return garden


GOES = "the cellar of 1.0.0 goes"


def said(task: Any) -> str:
    return "\n".join(task.reports.values_list("text", flat=True))


def upgraded(garden: Garden, kind: str) -> Any:
    session = garden.open()
    garden.put(session, {"?": {"type": kind, "id": "h"}, "name": "h"})
    task = garden.deploy(session)
    assert task.state == "done", task.error
    return task


@pytest.mark.parametrize("deleted", [False, True])
def test_a_server_in_a_property_that_is_gone_goes(house: Garden, deleted: bool) -> None:
    import_packages(house.caller, [archive("2.0.0", TWO)])
    if deleted:  # the environment keeps the code that it was made with
        Package.objects.get(fqn="test.house", version="1.0.0").delete()
    task = upgraded(house, "test.House/2.0.0@test.house")
    assert GOES in said(task)
    assert house.plant("h")["?"]["type"] == "test.House/2.0.0@test.house"
    assert servers(house) == []


def test_so_does_that_of_a_class_that_has_another_name_now(house: Garden) -> None:
    import_packages(house.caller, [archive("2.0.0", TWO, name="Villa")])
    task = upgraded(house, "test.Villa/2.0.0")
    assert servers(house) == []
    assert GOES in said(task)
