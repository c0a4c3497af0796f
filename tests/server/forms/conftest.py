"""A package with a definition and a class form, an environment, and short ways to fill forms in."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.conftest import installed
from tests.server.layers import People, layer

MANIFEST = """\
Format: MuranoPL/1.4
Type: Application
FullName: test.Shop
Version: 1.0.0
Name: Corner shop
Description: For tests of forms
Author: Vetro
Tags: []
Require:
  io.murano: '>=0'
Classes:
  test.Shop: Shop.yaml
  test.Host: Host.yaml
UI: ui.yaml
"""

SHOP = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  m: io.murano.metadata
  f: io.murano.metadata.forms
Extends: std:Application
Properties:
  name:
    Contract: $.string().notNull().check(len($) < 20, 'too long for a sign')
  size:
    Contract: $.string().check($ in [small, large])
    Default: small
  seats: {Contract: $.int().notNull().check($ >= 0), Default: 4}
  pin: {Contract: $.string(), Meta: {f:Secret: {}}}
  host: {Contract: $.class(Host)}
  friend: {Contract: $.class(Shop).notOwned()}
  opened: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $.opened: $.opened + 1
  rename:
    Scope: Public
    Meta: {m:Title: {text: Rename}}
    Arguments:
      - name: {Contract: $.string().notNull()}
    Body:
      - $.opened: $.opened + 100
      - Return: $name
  add:
    Usage: Static
    Scope: Public
    Arguments:
      - a: {Contract: $.int().notNull()}
      - b: {Contract: $.int().notNull(), Default: 1}
    Body:
      Return: $a + $b
  large:
    Usage: Static
    Scope: Public
    Meta:
      - m:ModelBuilder: {}
      - m:Title: {text: A large shop}
    Arguments:
      - model: {Contract: {}}
      - seats: {Contract: $.int().notNull()}
      - like: {Contract: $.class(Shop)}
    Body:
      Return: {size: large, seats: $seats, name: Big}
"""

HOST = """\
Name: Host
Namespaces: {=: test}
Properties:
  address: {Contract: $.string().notNull()}
  key: {Contract: $.string()}
"""

UI = """\
Version: 2.4
Application:
  ?: {type: test.Shop}
  name: $.sign.name
  size: $.sign.size
  seats: $.room.seats
  pin: $.room.pin
Forms:
  - sign:
      fields:
        - name: name
          type: string
          label: Name
          regexpValidator: '^[A-Z].*$'
          errorMessages: {invalid: Begin with a capital}
        - {name: size, type: choice, label: Size, choices: [[small, Small one], [large, Large one]], initial: small}
  - room:
      fields:
        - {name: seats, type: integer, label: Seats, initial: 4, required: true}
        - {name: tables, type: integer, label: Tables, required: false, enabled: $.sign.size = large}
        - {name: pin, type: password, label: Pin, confirmInput: false, required: false}
      validators:
        - {expr: $.room.seats < 100, message: That is no corner shop}
"""


def archive(**changes: str) -> bytes:
    """The package; ``changes``: manifest, shop, ui; german: what its texts are in that language."""
    files = {
        "manifest.yaml": changes.get("manifest", MANIFEST),
        "Classes/Shop.yaml": changes.get("shop", SHOP),
        "Classes/Host.yaml": HOST,
    }
    if "UI: " in files["manifest.yaml"]:
        files["UI/ui.yaml"] = changes.get("ui", UI)
    if "german" in changes:
        files["locale/de.yaml"] = changes["german"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for path, text in files.items():
            target.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


@pytest.fixture(scope="session", autouse=True)
def _ended() -> Iterator[None]:
    """Ends the processes that answer."""
    yield
    from vetro.server.forms import process_cache
    from vetro.server.tasks import package_queries

    process_cache.close()
    package_queries.close()


def _publish(person: Any, **changes: str) -> Any:
    from vetro.server.catalog.imports import import_packages

    (row,) = import_packages(person.caller, [archive(**changes)]).packages
    return row


@pytest.fixture
def publish(installed: None) -> Callable[..., Any]:
    """Imports the package for a person: its row."""
    return _publish


@layer(installed)
def shop(people: People) -> Any:
    """The package, in the catalog of ann's project."""
    return _publish(people("ann"))


@pytest.fixture
def environment(ann: Any) -> str:
    """The id of an environment of ann's project."""
    from vetro.server.environments import service

    return str(service.create(ann.caller, {"name": "street"})["id"])
