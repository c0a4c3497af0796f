"""`vetro check` as a command; what it finds is tested in tests/packages."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
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


DEFINITION = """\
Version: 2.3
Application: {'?': {type: t.Good}}
Forms:
  - main:
      fields:
        - {name: a, type: string, widgetMedia: {js: ['muranodashboard/js/mixed-mode.js', 'own/a.js']}}
        - {name: b, type: string, initial: $.main.c}
"""


def _with_definition(folder: Path, text: str | bytes = DEFINITION) -> Path:
    made = write_package(folder, {"t.Good": GOOD})
    (made / "UI").mkdir()
    (made / "UI" / "ui.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return made


def _found(vetro: Callable[..., Result], *args: str) -> list[tuple[str, str, int, int, str]]:
    data = json.loads(vetro("check", *args, "-o", "json").stdout)
    return [(p["severity"], p["file"], p["line"], p["column"], p["code"]) for p in data]


def test_definitions_of_folders_archives_and_alone(here: Path, vetro: Callable[..., Result]) -> None:
    made = _with_definition(here / "apps" / "good")
    with zipfile.ZipFile(here / "good.zip", "w") as archive:
        for file in sorted(made.rglob("*.yaml")):
            archive.write(file, file.relative_to(made))
    for given, file in (
        ("apps/good", "apps/good/UI/ui.yaml"),
        ("apps", "apps/good/UI/ui.yaml"),
        ("good.zip", "good.zip/UI/ui.yaml"),
        ("apps/good/UI/ui.yaml", "apps/good/UI/ui.yaml"),
    ):
        found = _found(vetro, given)
        assert [(s, f, line, code) for s, f, line, _, code in found] == [
            ("warning", file, 6, "DUI114"),
            ("warning", file, 7, "DUI113"),
        ]
    assert vetro("check", "apps").exit_code == 0
    assert vetro("check", "apps", "--strict").exit_code == 1


def test_media_of_own_folders(here: Path, vetro: Callable[..., Result]) -> None:
    _with_definition(here / "good")
    (here / "static" / "own").mkdir(parents=True)
    (here / "static" / "own" / "a.js").touch()
    assert [code for *_, code in _found(vetro, "good", "--media", "static")] == ["DUI113"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("Version: 2\nForms: [", "DUI100", 3),
        (DEFINITION.replace("2.3", "9"), "DUI101", 1),
        (DEFINITION.replace("type: string, initial", "type: string, inital: 1, label"), "DUI102", 7),
        (DEFINITION.replace("$.main.c", "range(0).select(1)"), "DUI200", 7),
        (DEFINITION.replace("initial: $.main.c", "regexpValidator: '(a+)+('"), "DUI103", 7),
        (b"\xff\xfe\0bad", "DUI100", 1),
        ("[" * 100_000, "DUI100", 1),
        ("a: " + "x" * 3_000_000, "DUI100", 1),
    ],
    ids=["yaml", "version", "attribute", "endless", "regex", "bytes", "nested", "megabytes"],
)
def test_bad_definitions_have_a_place_and_a_message(
    here: Path, vetro: Callable[..., Result], text: str | bytes, code: str, line: int
) -> None:
    _with_definition(here / "good", text)
    result = vetro("check", "good", "-o", "json")
    assert result.exit_code == 1, result.output
    errors = [p for p in json.loads(result.stdout) if p["severity"] == "error"]
    assert [(p["file"], p["line"]) for p in errors] == [("good/UI/ui.yaml", line)], errors
    assert errors[0]["code"] == code
    assert errors[0]["message"]
