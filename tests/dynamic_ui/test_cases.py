"""All shared cases, and the runner itself: a case that expects something else has to fail."""

from __future__ import annotations

import copy
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.dynamic_ui.__main__ import main
from tests.dynamic_ui.runner import Case, read_case, run_case

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.glob("*.yaml"))
GOOD = """
Version: 2.4
Application:
  ?: {type: com.example.App}
  host: $.main.host
Forms:
  - main:
      fields:
        - {name: host, type: string, regexpValidator: '^[a-z]+$', minLength: 8}
        - {name: secret, type: password}
"""
MANIFEST = "Format: 1.0\nType: Application\nFullName: com.example.App\nName: App\n"


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_shared_case(file: Path) -> None:
    assert run_case(read_case(file)) == []


def test_all_cases_are_there() -> None:
    assert len(FILES) == 285


def changed(name: str, *path: Any, value: Any) -> Case:
    data = copy.deepcopy(read_case(CASES / f"{name}.yaml").data)
    target = data["expect"]
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return Case(CASES / f"{name}.yaml", data)


@pytest.mark.parametrize(
    ("name", "path", "value", "word"),
    [
        ("string-plain", ("load",), "error", "load"),
        ("string-plain", ("first", "fields", 0, "label"), "B", "first.fields[0].label"),
        ("string-plain", ("first", "fields", 0, "required"), 1, "required"),
        ("string-plain", ("first", "of"), 3, "first.of"),
        ("string-plain", ("first", "fields"), [], "first.fields"),
        ("string-plain", ("model", "v"), "other", "model.v"),
        ("string-plain", ("model", "missing"), None, "model.missing"),
        ("integer-plain", ("model", "v"), "41", "model.v"),
        ("integer-plain", ("steps", 0, "cleaned", "a"), 41.0, "cleaned.a"),
        ("integer-bad", ("steps", 0, "errors"), {"b": ["x"]}, "errors"),
        ("integer-bad", ("steps", 0, "errors", "a"), ["x"], "errors.a"),
        ("integer-bad", ("steps", 0, "errors", "a"), ["Enter a whole number."] * 2, "errors.a"),
        ("integer-bad", ("steps", 0, "outcome"), "next", "steps"),
        ("model-nested-objects", ("model", "a", "?", "id"), "<id-1>", "model.a.?.id"),
        ("fn-hostname-random", ("model", "a"), "x", "model.a"),
        ("wizard-quick", ("target",), "env-1", "target"),
        ("wizard-referred", ("then",), "environment page", "then"),
        ("param-source", ("static_call", "methodName"), "other", "static_call.methodName"),
    ],
)
def test_another_expectation_fails(name: str, path: tuple[Any, ...], value: Any, word: str) -> None:
    wrong = run_case(changed(name, *path, value=value))
    assert any(word in line for line in wrong), wrong


def test_messages_are_looked_for() -> None:
    case = changed(
        "wizard-last-step", "messages", value=["The 'Test App' application successfully added to environment."]
    )
    assert run_case(case) == []
    case = changed("image-broken-metadata", "messages", value=["Invalid murano image metadata"])
    assert run_case(case) == []
    case = changed("image-broken-metadata", "messages", value=["nothing of the kind"])
    assert len(run_case(case)) == 1


def test_main_counts_cases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(CASES / "string-plain.yaml"), str(CASES / "text-multiline.yaml")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed"
    text = (CASES / "string-plain.yaml").read_text().replace("label: A", "label: B")
    (tmp_path / "other.yaml").write_text(text)
    assert main([str(tmp_path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("FAILED string-plain: first.fields[0].label")
    assert out[-1] == "0 passed, 1 failed"


def test_main_refuses_what_is_no_case(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no case files" in capsys.readouterr().err
    (tmp_path / "x.yaml").write_text("a: 1")
    assert main([str(tmp_path)]) == 2
    assert "not a case" in capsys.readouterr().err


def test_corpus_drives_folders_and_archives(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "good" / "UI").mkdir(parents=True)
    (tmp_path / "good" / "manifest.yaml").write_text(MANIFEST)
    (tmp_path / "good" / "UI" / "ui.yaml").write_text(GOOD)
    bad = GOOD.replace("$.main.host", "$.other.host")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("manifest.yaml", MANIFEST)
        archive.writestr("UI/ui.yaml", bad)
    (tmp_path / "broken.zip").write_text("no archive")
    assert main(["--corpus", str(tmp_path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "1 passed, 2 failed"
    assert "bad.zip!UI/ui.yaml" in out[0] and "$.other.host" in out[0] and ":5:9" in out[0]
    assert "broken.zip" in out[1]


def test_corpus_says_when_no_answer_passes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "UI").mkdir()
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    (tmp_path / "UI" / "ui.yaml").write_text(GOOD.replace("^[a-z]+$", "^never such a text$"))
    assert main(["--corpus", str(tmp_path)]) == 1
    assert "no plausible answer passes" in capsys.readouterr().out
