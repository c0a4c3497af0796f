"""The compile cache behind `vetro run`: used, harmless when it cannot be, not trusted when a stranger wrote it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fuzzing import every
from vetro.cli.compile_cache import cache_folder, code_cache
from vetro.muranopl import Engine
from vetro.muranopl.compiler import unit
from vetro.packages import load_path

CLASS = """\
Namespaces: {=: t}
Name: Main
Methods:
  deploy:
    Scope: Public
    Arguments: [{n: {Contract: $.int(), Default: 20}}]
    Body:
      - Return: $n + 1
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "t"
    (folder / "Classes").mkdir(parents=True)
    (folder / "manifest.yaml").write_text("Format: 1.4\nType: Library\nFullName: t\nClasses: {t.Main: Main.yaml}\n")
    (folder / "Classes" / "Main.yaml").write_text(CLASS)
    (tmp_path / "model.json").write_text(json.dumps({"?": {"type": "t.Main", "id": "root"}}))
    return folder


def run(package: Path, cache: Path | str) -> str:
    arguments = ["run", str(package), "--model", str(package.parent / "model.json"), "--result", "--json", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "vetro", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VETRO_CACHE": str(cache)},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.campaign
def test_runs_give_the_same_with_a_cold_a_warm_and_no_cache(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(package, cache) == "21"
    stored = sorted(p.name for p in cache.rglob("*") if p.is_file())
    assert stored
    assert run(package, cache) == "21"
    assert sorted(p.name for p in cache.rglob("*") if p.is_file()) == stored
    assert run(package, "off") == "21"


def test_a_warm_cache_compiles_nothing(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_CACHE", str(tmp_path / "cache"))
    packages = load_path(package)
    assert code_cache(packages) is not None
    cache = code_cache(packages)

    def refuse(*_: object) -> None:
        raise AssertionError("compiled although the cache has it")

    monkeypatch.setattr(unit, "compile_unit", refuse)
    session = Engine(packages, code_cache=cache).session()
    session.load({"Objects": {"?": {"type": "t.Main"}}})
    assert session.call("deploy") == 21
    assert session.call("deploy", [1]) == 2


@pytest.mark.campaign
def test_a_changed_class_is_compiled_again(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(package, cache) == "21"
    file = package / "Classes" / "Main.yaml"
    file.write_text(CLASS.replace("$n + 1", "$n + 2"))
    assert run(package, cache) == "22"


@pytest.mark.campaign  # in one process: tests/packages/test_cache.py
def test_damaged_and_foreign_entries_are_ignored(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(package, cache) == "21"
    for entry in (cache / "entries").rglob("*"):
        if entry.is_file():
            entry.write_bytes(b"not what was written" + entry.read_bytes()[:50])
    assert run(package, cache) == "21"


def test_a_folder_that_cannot_be_used_is_no_error(package: Path, tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("in the way")
    assert run(package, occupied) == "21"


def start(package: Path, cache: Path) -> subprocess.Popen[str]:
    arguments = ["run", str(package), "--model", str(package.parent / "model.json"), "--result", "--json", "-q"]
    return subprocess.Popen(
        [sys.executable, "-m", "vetro", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "VETRO_CACHE": str(cache)},
    )


@pytest.mark.campaign
def test_commands_that_fill_the_same_cache_at_once(package: Path, tmp_path: Path) -> None:
    running = [start(package, tmp_path / "cache") for _ in range(4)]
    assert [r.communicate(timeout=60)[0].strip() for r in running] == ["21"] * 4


@pytest.mark.parametrize("seconds", every(2, [0.1, 0.2, 0.3, 0.4, 0.5]))
@pytest.mark.campaign
def test_a_command_killed_while_it_fills_the_cache_harms_no_later_one(
    package: Path, tmp_path: Path, seconds: float
) -> None:
    killed = start(package, tmp_path / "cache")
    try:
        killed.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        killed.kill()
        killed.communicate()
    assert run(package, tmp_path / "cache") == "21"


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VETRO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/vetro")
    monkeypatch.setenv("VETRO_CACHE", "off")
    assert cache_folder() is None
