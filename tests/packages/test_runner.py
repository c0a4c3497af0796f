"""`python -m tests.packages`: each stage ends a package for its own reason, and nothing ends the others."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.packages import runner
from tests.packages.__main__ import main
from tests.packages.runner import Shelf, Verdict

HEAD = "Namespaces: {=: t, std: io.murano, res: io.murano.resources, sys: io.murano.system}\n"
APPLICATION = "Name: App\nExtends: std:Application\n"
SERVER = "  instance: {Contract: $.class(res:Instance).notNull()}\n"


def package(
    folder: Path, body: str, *, name: str = "t.App", more: str = "", ui: str = "", kind: str = "Application"
) -> Path:
    """A package of one class; ``body`` follows the head of its file."""
    (folder / "Classes").mkdir(parents=True)
    manifest = f"Format: 1.3\nType: {kind}\nFullName: {name}\nName: x\nClasses: {{t.App: App.yaml}}\n{more}"
    (folder / "manifest.yaml").write_text(manifest)
    (folder / "Classes" / "App.yaml").write_text(HEAD + body)
    if ui:
        (folder / "UI").mkdir()
        (folder / "UI" / "ui.yaml").write_text(ui)
    return folder


def deploying(*lines: str, properties: str = "") -> str:
    """An application whose deploy has these lines."""
    body = "".join(f"      - {line}\n" for line in lines)
    start = f"Properties:\n{properties}" if properties else ""
    return f"{APPLICATION}{start}Methods:\n  deploy:\n    Body:\n{body}"


def verdict(folder: Path) -> Verdict:
    found = list(Shelf([str(folder)]).try_all())
    assert len(found) == 1
    return found[0]


def test_a_sound_package_passes(tmp_path: Path) -> None:
    body = deploying("$.instance.deploy()", properties=SERVER)
    found = verdict(package(tmp_path / "p", body))
    assert (found.state, found.stage, found.reason, found.how) == ("passed", "", "", "")


@pytest.mark.parametrize(
    ("body", "more", "state", "stage", "reason"),
    [
        (f"{APPLICATION}Methods: 1\n", "", "failed", "check", "Methods"),
        ("Name: App\nExtends: std:Application\nMethods:\n  a: {Body: ['$.b(']}\n", "", "failed", "check", "App.yaml"),
        (deploying("$x: 1"), "Require: {some.thing.Else: }\n", "missing", "check", "some.thing.Else"),
        (deploying("Throw: Bad\n        Message: no luck"), "", "failed", "deploy", "no luck"),
        (
            deploying("If: $.getAttr(done, false)\n        Then:\n          - $x: 1/0", "$.setAttr(done, true)"),
            "",
            "failed",
            "redeploy",
            "zero",
        ),
        (
            APPLICATION + "Methods:\n  deploy: {Body: [$x: 1]}\n  .destroy: {Body: [{Throw: X, Message: stay}]}\n",
            "",
            "passed",
            "",
            "",
        ),
    ],
    ids=["shape", "expression", "requirement", "deploy", "redeploy", "destroyers do not stop it"],
)
def test_each_stage_ends_a_package(tmp_path: Path, body: str, more: str, state: str, stage: str, reason: str) -> None:
    found = verdict(package(tmp_path / "p", body, more=more))
    assert (found.state, found.stage) == (state, stage), str(found)
    assert reason in found.reason


def test_a_package_that_cannot_be_opened_is_told_and_the_next_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package(tmp_path / "good", deploying("$x: 1"))
    (tmp_path / "broken.zip").write_bytes(b"PK not an archive")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "notes.txt").write_text("no package")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.yaml").write_text("{")
    assert main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [
        ["failed", "broken.zip"],
        ["failed", "bad"],
        ["passed", "t.App"],
    ]
    assert all("  open: " in line for line in lines[:2])
    assert lines[-1] == "1 passed, 2 failed"


def test_archives_and_folders_at_any_depth_and_each_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = package(tmp_path / "a" / "b" / "c", deploying("$x: 1"))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    (tmp_path / "a" / "same.zip").write_bytes(data.getvalue())
    assert main([str(tmp_path), str(tmp_path / "a"), str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[-1] == "2 passed, 0 failed"


def test_missing_requirements_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package(tmp_path / "p", deploying("$x: 1"), more="Require: {some.thing.Else: }\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 with missing requirements, not counted",
        "0 passed, 0 failed",
    ]


def test_no_package_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "there is no package" in capsys.readouterr().err
    assert main([str(tmp_path / "absent")]) == 1


@pytest.mark.parametrize(
    "line", ["While: 1 < 2\n        Do:\n          - $x: 1", "sleep(3600)"], ids=["busy", "asleep"]
)
def test_what_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(runner, "SECONDS", 2.0)
    monkeypatch.setattr(runner, "RUN_SECONDS", 1.0)
    found = verdict(package(tmp_path / "p", deploying(line)))
    assert (found.state, found.stage) == ("failed", "deploy")
    assert "took too long" in found.reason


def test_a_server_that_never_comes_is_not_waited_for_at_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SECONDS", 2.0)
    monkeypatch.setattr(runner, "RUN_SECONDS", 1.0)
    template = (
        "$.instance.agent.call({FormatVersion => '2.0.0', Body => 'return 1', Scripts => {}}, new(sys:Resources))"
    )
    with tempfile.TemporaryDirectory() as short:  # paths of sockets have little room
        monkeypatch.setattr(tempfile, "tempdir", short)
        found = verdict(package(tmp_path / "p", deploying(template, properties=SERVER)))
        assert "took too long" in found.reason
        assert not [name for name in os.listdir(short) if name.startswith("vetro-trial-")]


def test_other_answers_are_tried_and_told(tmp_path: Path) -> None:
    switch = "  fast: {Contract: $.bool().notNull(), Default: false}\n"
    lines = ("If: not $.fast\n        Then:\n          - Throw: Slow\n            Message: too slow",)
    found = verdict(package(tmp_path / "p", deploying(*lines, properties=switch)))
    assert found.state == "passed" and "switches on" in found.how and "with switches on" in str(found)


def test_answers_come_from_the_form(tmp_path: Path) -> None:
    ui = """
Version: 2
Application:
  ?: {type: t.App}
  word: $.first.word
  size: $.first.size
  unknown: $.first.word
  text: !yaql "$.first.word + x"
  instance:
    ?: {type: io.murano.resources.LinuxMuranoInstance}
    name: web
    image: $.first.image
    networks: {useEnvironmentNetwork: "$.first.net[0]"}
Forms:
  - first:
      fields:
        - {name: word, type: string, initial: open sesame}
        - {name: size, type: integer, initial: 3}
        - {name: image, type: image}
"""
    properties = (
        "  word: {Contract: $.string().notNull()}\n  size: {Contract: $.int().notNull()}\n"
        "  text: {Contract: $.string()}\n" + SERVER
    )
    said = "Throw: Said\n        Message: format('{0}|{1}|{2}|{3}', $.word, $.size, $.text, $.instance.name)"
    found = verdict(package(tmp_path / "p", deploying(said, properties=properties), ui=ui))
    assert "open sesame|3|None|web" in found.reason


@pytest.mark.parametrize("ui", ["a: [", "- 1", "Forms: 3", "Application: {?: {type: 4}}", "Forms: [{a: {fields: x}}]"])
def test_forms_that_cannot_be_read_do_not_matter(tmp_path: Path, ui: str) -> None:
    assert verdict(package(tmp_path / "p", deploying("$x: 1"), ui=ui)).state == "passed"
