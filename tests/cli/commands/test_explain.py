"""`vetro explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import write_package

MAIN = """\
Namespaces: {{=: t, m: io.murano.metadata, std: io.murano}}
Name: t.Main
Extends: t.Base
Meta:
  m:Description: {{text: A pond.}}
Properties:
  size:
    Contract: $.int().notNull().check($ > {0})
    Default: 7
  title:
    Contract: $.string().notNull()
    Meta:
      m:Description: {{text: What it is called.}}
  friend: {{Contract: $.class(Base)}}
  made: {{Usage: Out, Contract: [$.string()]}}
Methods:
  grow:
    Scope: Public
    Arguments:
      - by: {{Contract: $.int().notNull()}}
    Body: []
  hidden:
    Body: []
"""
BASE = "Name: t.Base\nExtends: io.murano.Application\n"


@pytest.fixture
def app(here: Path) -> None:
    write_package(here / "apps/1", {"t.Main": MAIN.format(1), "t.Base": BASE})
    write_package(here / "apps/2", {"t.Main": MAIN.format(2), "t.Base": BASE}, version="2.0.0")


@pytest.mark.usefixtures("app")
def test_a_class_in_words(vetro: Callable[..., Result]) -> None:
    said = vetro("explain", "t.Main", "apps").stdout
    assert "2.0.0, extends t.Base" in said and "A pond." in said
    assert "size: a whole number, more than 2 (default 7)" in said
    assert "title: text (required)\n    What it is called." in said
    assert "friend: another application: Base" in said and "made: a list of: text; set by its code" in said
    assert "grow(by)" in said and "by: a whole number (required)" in said and "hidden" not in said
    assert "(6 methods more for code of packages" in said and "nothing here" in said
    assert "Used by\n  t.Main (extends it)\n  t.Main.friend" in vetro("explain", "t.Base", "apps").stdout


@pytest.mark.usefixtures("app")
def test_as_data_and_one_member(vetro: Callable[..., Result]) -> None:
    told = json.loads(vetro("explain", "t.Main", "apps", "-o", "json").stdout)
    assert {"grow", "hidden"} < {one["name"] for one in told["methods"]}
    assert told["version"] == "2.0.0"
    size = json.loads(vetro("explain", "t.Main.size", "apps", "-o", "json").stdout)
    assert size == {"class": "t.Main", **next(one for one in told["properties"] if one["name"] == "size")}
    assert size["contract"] == "$.int().notNull().check($ > 2)" and size["default"] == "7" and not size["required"]
    said = vetro("explain", "t.Main.size", "apps").stdout
    assert "contract: $.int().notNull().check($ > 2)" in said


@pytest.mark.usefixtures("app")
def test_names_that_there_are_not(vetro: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = vetro("explain", "t.Main.sise", "apps")
    assert "no property or method 'sise'" in wrong.stderr and "'size'" in wrong.stderr
    assert "t.Main" in vetro("explain", "t.Mian", "apps").stderr
    Path("empty").mkdir()
    monkeypatch.chdir("empty")
    assert "vetro explain t.Main PATH" in vetro("explain", "t.Main").stderr


def test_standard_classes_and_the_package_of_this_folder(
    vetro: Callable[..., Result], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "flavor: text (required)" in vetro("explain", "io.murano.resources.Instance.flavor").stdout
    write_package(here / "one", {"t.Main": MAIN.format(5), "t.Base": BASE})
    assert "more than 5" in vetro("explain", "t.Main.size").stdout
    monkeypatch.chdir(here / "one")
    assert "more than 5" in vetro("explain", "t.Main.size").stdout
