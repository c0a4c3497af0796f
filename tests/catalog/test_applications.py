"""The applications of `catalog/`: sound, with a way from their version before, and tested against scripted agents."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from vetro.cli.main import main
from vetro.forms.regexes import found as contracts
from vetro.forms.regexes import to_ecmascript
from vetro.library import std_package
from vetro.packages import load_path
from vetro.packages.bundle import categories
from vetro.packages.checks.paths import check_paths
from vetro.packages.compat.comparison import compare
from vetro.packages.compat.findings import promises

BEGINNING = import_module("vetro.server.catalog.migrations.0002_categories")
CATALOG = Path(__file__).parents[2] / "catalog"
NAMES = sorted(path.name for path in CATALOG.iterdir() if path.is_dir())

each_application = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def vetro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("VETRO_WORKSPACE", str(tmp_path / "workspace"))
    return lambda *words: CliRunner().invoke(main, words)


def versions(name: str) -> list[Path]:
    return sorted(path for path in (CATALOG / name).iterdir() if path.name[0].isdigit())


def others(name: str) -> list[str]:
    """Applications that an application requires."""
    (package,) = load_path(versions(name)[-1])
    prefix = "io.vetro.catalog."
    return [one.removeprefix(prefix) for one in package.requirements if one.startswith(prefix)]


@each_application
def test_it_is_sound_and_says_what_it_is(name: str) -> None:
    newest = versions(name)[-1]
    required = [str(path) for other in others(name) for path in versions(other)]
    assert [str(problem) for _, problem in check_paths([str(path) for path in versions(name)], required)] == []
    (package,) = load_path(newest)
    # It stands where people look, in categories that each installation begins with.
    assert categories()[package.name] and set(categories()[package.name]) <= set(BEGINNING.NAMES)
    assert package.name == f"io.vetro.catalog.{name}" and package.description and package.author and package.tags
    pictures = [path.read_bytes() for path in sorted((newest / "screenshots").iterdir())]
    assert 2 <= len(pictures) <= 8 and all(data.startswith(b"RIFF") and len(data) <= 150 << 10 for data in pictures)
    assert (newest / "logo.png").read_bytes().startswith(b"\x89PNG") and (newest / "README.md").is_file()
    changes = yaml.safe_load((newest / "changes.yaml").read_text("utf-8"))
    assert [entry["Version"] for entry in changes] == [path.name for path in reversed(versions(name))]
    for entry in changes:
        assert all({"en", "de"} == set(change["Text"]) for change in entry["Changes"])
    assert f"[{name}]({name}/{newest.name}/README.md)" in (CATALOG / "README.md").read_text("utf-8")


@each_application
def test_each_version_is_a_way_from_the_one_before(name: str) -> None:
    (*_, old, new) = versions(name)
    ((before,), (after,)) = load_path(old), load_path(new)
    required = [package for other in others(name) for package in load_path(versions(other)[-1])]
    done = compare(before, after, required, seconds=120)
    assert promises(done.new, done.required), [str(finding) for finding in done.findings]


def test_patterns_end_where_texts_end() -> None:
    """``$`` of Python's matches before a line end, too: what passes as a name would be two lines of a file. Forms have
    them in the words of browsers."""
    files = [*CATALOG.glob("*/*/Classes/*.yaml"), *Path(str(std_package().location)).glob("Classes/*.yaml")]
    found = [
        (f"{path.parent.parent.name}/{path.name}", pattern)
        for path in files
        if path.parent.parent.name != "tests"
        for pattern in re.findall(r"matches\('([^']*)'\)", path.read_text("utf-8"))
    ]
    assert len(found) > 40 and [one for one in found if not one[1].endswith(r"\Z")] == []
    for _, pattern in found:
        translated = to_ecmascript(pattern)
        assert translated is not None and r"\Z" not in translated, pattern
    name = next(pattern for _, pattern in found if "vetro_|" in pattern and "replaced" in pattern)
    words = ("app", "app_a", "app_owner", "app_aa", "vetro_x", "app\n", "a" * 32)
    taken = [word for word in words if not contracts(name, word)]
    assert taken == ["app_a", "app_owner", "vetro_x", "app\n", "a" * 32]


def words_of(name: str, *more: str) -> list[str]:
    folder = CATALOG / name / "tests"
    return [
        "test",
        str(versions(name)[-1]),
        str(folder),
        "--script",
        str(folder / "agents.yaml"),
        "--context",
        "local",
        *(word for other in others(name) for word in ("--require", str(versions(other)[-1]))),
        *more,
    ]


@each_application
def test_the_first_deployment_of_it(name: str, vetro: Callable[..., Result]) -> None:
    done = vetro(*words_of(name, "-k", "testAServer"))
    assert done.exit_code == 0 and "0 failed" in done.output, done.output


@pytest.mark.campaign
@each_application
def test_its_tests_pass_and_run_nine_lines_of_ten(name: str, vetro: Callable[..., Result]) -> None:
    done = vetro(*words_of(name, "--coverage", "--fail-under", "90"))
    assert done.exit_code == 0 and "0 failed" in done.output, done.output
