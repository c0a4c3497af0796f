"""`vetro check` as a command; what it finds is tested in tests/packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import yaml
from click.testing import Result

from tests.cli.conftest import write_package

GOOD = "Name: t.Good\nMethods:\n  run:\n    Body: {Return: 1}\n"
WARNING = "Name: t.Odd\nMethods:\n  run:\n    Body:\n      - Return: $nobody\n"
ERROR = "Name: t.Bad\nMethods:\n  run:\n    Body:\n      - Return: nobody()\n"


def test_a_sound_package(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "good", {"t.Good": GOOD})
    result = vetro("check", "good")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no problems found\n")
    assert vetro("check", "good", "-o", "json").stdout == "[]\n"


def test_warnings_fail_only_when_strict(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "odd", {"t.Odd": WARNING})
    result = vetro("check", "odd")
    assert result.exit_code == 0
    assert result.stdout.startswith("warning[CHK100]: nothing gives variable '$nobody' a value")
    assert result.stderr == "0 errors, 1 warning\n"
    assert vetro("check", "odd", "--strict").exit_code == 1


def test_data_for_machines(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "bad", {"t.Bad": ERROR})
    result = vetro("check", "bad", "-o", "json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)
    assert found == {
        "path": "bad",
        "file": "bad/Classes/Bad.yaml",
        "line": 5,
        "column": 17,
        "severity": "error",
        "code": "YAQ201",
        "message": "there is no function 'nobody'",
        "hint": None,
    }
    assert yaml.safe_load(vetro("check", "bad", "-o", "yaml").stdout) == [found]


def test_several_paths_and_required_packages(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "lib", {"lib.Base": "Name: lib.Base\n"}, name="lib")
    user = "Namespaces: {=: app, lib: lib}\nName: App\nExtends: lib:Base\n"
    write_package(here / "app", {"app.App": user}, name="app", extra="Require:\n  lib: '>=1'\n")
    alone = vetro("check", "app")
    assert alone.exit_code == 1
    assert "--> app/manifest.yaml:10:3" in alone.stdout
    assert "give it with --require" in alone.stdout
    assert alone.stderr == "1 error, 0 warnings\n"
    assert vetro("check", "app", "--require", "lib").exit_code == 0
    assert vetro("check", "app", "lib").exit_code == 0
    assert vetro("check", ".").exit_code == 0


def test_paths_without_a_package(here: Path, vetro: Callable[..., Result]) -> None:
    (here / "empty").mkdir()
    (here / "noise.zip").write_bytes(b"\0\1\2")
    result = vetro("check", "empty", "noise.zip", "missing", "-o", "table")
    assert result.exit_code == 1
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert sorted(rows[1:]) == ["empty:1:1", "missing:1:1", "noise.zip:1:1"]
    assert vetro("check", "--require", "missing", "empty").exit_code == 1
