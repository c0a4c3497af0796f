"""`vetro schema`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.cli.conftest import write_package

MAIN = """\
Name: t.Main
Properties:
  size: {Contract: $.int().notNull().check($ > %d)}
Methods:
  grow:
    Scope: Public
    Arguments:
      - by: {Contract: $.int()}
    Body: []
  hidden:
    Body: []
"""


@pytest.fixture
def app(here: Path) -> None:
    write_package(here / "apps/1", {"t.Main": MAIN % 1})
    write_package(here / "apps/2", {"t.Main": MAIN % 2}, version="2.0.0")


@pytest.mark.usefixtures("app")
def test_schemas(vetro: Callable[..., Result]) -> None:
    data = json.loads(vetro("schema", "apps", "t.Main").stdout)
    assert list(data) == [""]
    assert "size" in data[""]["properties"]
    assert list(json.loads(vetro("schema", "apps", "t.Main", "grow").stdout)) == ["grow"]
    assert list(yaml.safe_load(vetro("schema", "apps", "t.Main", "grow", "", "-o", "yaml").stdout)) == ["grow", ""]


@pytest.mark.usefixtures("app")
def test_the_newest_version_unless_another_is_named(vetro: Callable[..., Result]) -> None:
    def bound(*options: str) -> object:
        schema = json.loads(vetro("schema", "apps", "t.Main", *options).stdout)[""]
        return schema["properties"]["size"]["minimum"]

    assert bound() == 2
    assert bound("--version", "<2") == 1


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["apps", "t.Mian"], "did you mean 't.Main'?"),
        (["apps", "x.Main"], "did you mean 't.Main'?"),
        (["apps", "t.Main", "hidden"], "class t.Main has no public method 'hidden'"),
        (["apps", "t.Main", "--version", "7"], "in version 7"),
        (["missing", "t.Main"], "missing: no such file or folder"),
    ],
)
def test_errors(vetro: Callable[..., Result], arguments: list[str], message: str) -> None:
    result = vetro("schema", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
