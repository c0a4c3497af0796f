"""A package and environments for tests of the rules of environments."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.server.conftest import installed
from tests.server.layers import People, layer
from vetro.server.environments import exports

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.garden
Version: 1.0.0
Name: Garden
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.Plant: Plant.yaml
  test.Pot: Pot.yaml
"""

PLANT = """\
Name: Plant
Namespaces:
  =: test
  std: io.murano
  sys: io.murano.system
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  species: {Contract: $.string().notNull(), Usage: Const, Default: fern}
  height: {Contract: $.int().notNull(), Usage: Out, Default: 0}
  password: {Contract: $.string(), Default: null}
  wilt: {Contract: $.bool().notNull(), Default: false}
  complain: {Contract: $.bool().notNull(), Default: false}
  pot: {Contract: $.class(Pot)}
Methods:
  deploy:
    Body:
      - $notifier: new(sys:InstanceNotifier, environment => $.find(std:Environment))
      - $notifier.trackApplication($this, 'A plant', 2)
      - $reporter: $.find(std:Environment).reporter
      - $reporter.report($this, 'growing')
      - If: $.pot != null
        Then:
          - $reporter.report($.pot, 'filled')
      - If: $.complain
        Then:
          - $reporter.report_error($this, 'too dry')
      - If: $.wilt
        Then:
          - Throw: Wilted
            Message: no water
      - $.height: $.height + 1
  water:
    Scope: Public
    Arguments:
      - litres: {Contract: $.int().notNull()}
    Body:
      - $.height: $.height + $litres
      - Return: $.height
"""

POT = """\
Name: Pot
Namespaces:
  =: test
Properties:
  colour: {Contract: $.string().notNull(), Default: red}
"""


def archive(version: str = "1.0.0") -> bytes:
    """The package test.garden."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr(zipfile.ZipInfo("manifest.yaml"), MANIFEST.replace("Version: 1.0.0", f"Version: {version}"))
        target.writestr(zipfile.ZipInfo("Classes/Plant.yaml"), PLANT)
        target.writestr(zipfile.ZipInfo("Classes/Pot.yaml"), POT)
    return buffer.getvalue()


class Garden:
    """The calls of one person on one environment."""

    def __init__(self, caller: Any, id: str, drain: Callable[..., Any]) -> None:
        self.caller = caller
        self.id = id
        self.drain = drain

    def open(self) -> str:
        """A new session."""
        from vetro.server.environments import sessions

        return str(sessions.open_session(self.caller, self.id).id)

    def put(self, session: str, *plants: dict[str, Any]) -> None:
        """These plants and no others."""
        from vetro.server.environments import drafts

        drafts.put_services(self.caller, self.id, session, (), list(plants))

    def set(self, session: str, path: str, value: Any) -> None:
        """One value."""
        from vetro.server.environments import drafts

        drafts.put_services(self.caller, self.id, session, path.split("/"), value)

    def deploy(self, session: str) -> Any:
        """Deploys to the end; the task."""
        from vetro.server.environments import deploy as deploying

        task = deploying.deploy(self.caller, self.id, session)
        self.drain()
        task.refresh_from_db()
        return task

    def show(self, session: str = "") -> Any:
        """What the API shows."""
        from vetro.server.environments import drafts

        return drafts.show(self.caller, self.id, session)

    def plant(self, id: str) -> Any:
        """A plant as it is now."""
        return next(p for p in self.show()["services"] if p["?"]["id"] == id)


def plant(id: str = "p1", **properties: Any) -> dict[str, Any]:
    """An application."""
    return {"?": {"type": "test.Plant", "id": id}, "name": id, **properties}


def new_garden(caller: Any, drain: Callable[..., Any], *plants: dict[str, Any], name: str = "garden") -> Garden:
    """An environment; with plants it is deployed."""
    from vetro.server.environments import service

    garden = Garden(caller, service.create(caller, {"name": name})["id"], drain)
    if plants:
        session = garden.open()
        garden.put(session, *plants)
        garden.deploy(session)
    return garden


@layer(installed)
def garden_package(people: People) -> None:
    """The package, in ann's project."""
    from vetro.server.catalog.service import import_packages

    import_packages(people("ann").caller, [archive()])


@pytest.fixture
def planting(garden_package: None, ann: Any, drain: Any) -> Callable[..., Garden]:
    """Makes environments of ann: with plants they are deployed, and the package is there."""
    return partial(new_garden, ann.caller, drain)


def exported(caller: Any, environment_id: str) -> bytes:
    """The archive of an environment."""
    with exports.export_environment(caller, environment_id) as file:
        return file.read()
