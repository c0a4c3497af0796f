"""What `vetro deploy` takes from the workspace's file, asks in task processes, and says about packages."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ENDS, write_package
from tests.cli.deploykit import BOX, Place
from vetro.muranopl.session import Session
from vetro.server import sandboxed_workers
from vetro.server.tasks import effect_hosts


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def test_class_configurations_of_the_workspace_reach_contracts_and_tasks(place: Place) -> None:
    text = BOX.replace("  size:\n", "  least: {Contract: $.int().notNull(), Usage: Config, Default: 0}\n  size:\n", 1)
    text = text.replace("$ > 0 and", "$ > 5 and").replace("format('The box says {0}', $.text)", "str($.least)")
    package = write_package(place.folder / "limited", {"t.Box": text})
    place.root.mkdir()
    settings = place.root / "vetro.toml"
    row = "[[engine.class_configs]]\nclass = 't.Box'\nversion = '1'\nvalues = {least = 7}\n"
    settings.write_text(row + "[task]\nmemory_mib = 512\n")
    command = ["deploy", str(package), "--env", "e", "--driver", "record"]
    place.ok(*command, "--set", "size=8")
    assert place.reports()[-1] == "7"
    settings.write_text("[engin]\n")
    said = place.refused(*command)
    assert "there is no setting 'engin'" in said and "vetro.toml" in said
    settings.write_text("")
    assert place.status() == "ready"


def test_a_package_that_never_ends_is_stopped_before_anything_is_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its expressions run in a task process: the command itself goes on and says where."""
    monkeypatch.setattr("vetro.cli.package_queries.TIMEOUT", 1.0)
    text = BOX.replace("check($ > 0 and $ < 10)", "check(repeat(1).takeWhile($ = 1).toList().len() = $)")
    package = write_package(place.folder / "endless", {"t.Box": text})
    said = place.refused("deploy", str(package), "--env", "e", "--driver", "record")
    assert "Box.yaml" in said
    assert place.data("env", "list") == []


def test_no_package_code_runs_in_the_command(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of this process can do nothing; those of task processes do not know of it."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("package code runs in the command")

    run, reading = Session.run, ("secret_names.", "inspect_class.", "builder_names.")

    def only_read(session: Session, work: Any) -> Any:
        # Which properties are secret, and which are addresses, is what class files say: they are read, and nothing in
        # them runs.
        return run(session, work) if work.__qualname__.startswith(reading) else refuse()

    monkeypatch.setattr(Session, "run", only_read)
    for name in ("load", "schema", "call", "evaluate"):
        monkeypatch.setattr(Session, name, refuse)
    place.deploy()
    place.ok("env", "action", "e", "open")
    place.ok("env", "destroy", "e", "--yes")


def test_a_command_ends_the_processes_that_it_started(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests keep them for the next command (`kept_processes`)."""
    for module, end in zip((sandboxed_workers, effect_hosts), ENDS, strict=True):
        monkeypatch.setattr(module, "close", end)
    begun = []
    host, launcher = effect_hosts.host, sandboxed_workers.launcher

    def noted(made: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **more: Any) -> Any:
            begun.append(made(*args, **more))
            return begun[-1]

        return make

    monkeypatch.setattr(effect_hosts, "host", noted(host))
    monkeypatch.setattr(sandboxed_workers, "launcher", noted(launcher))
    place.deploy()
    assert {type(one).__name__ for one in begun} == {"HostProcess", "Launcher"}
    assert [one.pid for one in begun] == [None] * len(begun)
    assert not sandboxed_workers._launchers and not effect_hosts._forkers


def test_all_that_is_wrong_is_said_at_once(place: Place) -> None:
    said = place.refused(
        "deploy", str(place.package), "--env", "e", "--driver", "record", "--set", "size=12", "--set", "text=null"
    )
    assert said.count("error[") == 2  # all that is wrong, at once
    assert "t.Box.size" in said and "t.Box.text" in said
    assert f"{place.package.name}{os.sep}Classes{os.sep}Box.yaml" in said


def test_a_dry_run_leaves_no_temporary_files(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    place.ok("deploy", str(place.package), "--dry-run")
    assert list(scratch.iterdir()) == []


def test_warnings_about_packages_are_shown_and_kept(place: Place) -> None:
    package = write_package(place.folder / "odd", {"t.Box": BOX}, extra="Colour: red\n")
    said = place.ok("deploy", str(package), "--env", "e", "--driver", "record").output
    text = "t 1.0.0: manifest.yaml:9: unknown key 'Colour' is ignored"
    assert said.count(text) == 1 and "warning" in said
    (line,) = place.data("env", "log", "e", "--level", "warning")
    assert line["text"].endswith(text)
