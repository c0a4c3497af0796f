"""The runner reports failures as failures: it is what all other expectations rest on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.__main__ import main
from tests.conformance.cases import CaseError, read_cases
from tests.conformance.runner import time_limit

CLASS = """
Namespaces: {=: t}
Name: Main
Methods:
  one: {Scope: Public, Body: {Return: trace(1)}}
  boom: {Scope: Public, Body: [{Throw: low, Message: text}]}
  spin: {Scope: Public, Body: [{While: 1 > 0, Do: [{$x: 1}]}]}
"""


def case(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": f"own/{name}",
        "packages": [{"name": "t", "format": "1.4", "classes": {"t.Main": CLASS}}],
        "model": {"Objects": {"?": {"type": "t.Main", "id": "root"}}},
        "steps": list(steps),
        **more,
    }


def write(folder: Path, *cases: Any, name: str = "own.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump({"topic": "own", "cases": list(cases)}))
    return file


PASSING = case("passing", {"call": "one", "expect": {"result": 1, "traces": [1]}})
THROWING = case(
    "throwing", {"call": "boom", "expect": {"error": {"kind": "thrown", "names": ["t.low"], "message": "text"}}}
)


def test_all_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PASSING, name="deep/er/one.yaml")
    write(tmp_path, THROWING, name="two.yaml")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


@pytest.mark.parametrize(
    "step",
    [
        {"call": "one", "expect": {"result": 2, "traces": [1]}},
        {"call": "one", "expect": {"result": 1}},
        {"call": "one"},
        {"call": "one", "expect": {"error": {"kind": "error"}}},
        {"call": "boom", "expect": {"result": None}},
        {"call": "boom", "expect": {"error": {"kind": "syntax"}}},
        {"alive": ["root", "none"], "expect": {"alive": ["root", "none"]}},
    ],
)
def test_a_wrong_outcome_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str], step: dict[str, Any]) -> None:
    file = write(tmp_path, case("wrong", step), PASSING)
    assert main([str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAILED own/wrong")
    assert lines[-1] == "1 passed, 1 failed"


def test_load_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = {"Objects": {"?": {"type": "t.None", "id": "root"}}}
    unexpected = case("unexpected", model=model)
    expected = case(
        "expected", {"call": "never run"}, model=model, load={"expect": {"error": {"kind": "package-not-found"}}}
    )
    missing = case("missing", load={"expect": {"error": {"kind": "error"}}})
    assert main([str(write(tmp_path, unexpected, expected, missing))]) == 1
    out = capsys.readouterr().out
    assert "FAILED own/unexpected" in out
    assert "FAILED own/missing" in out
    assert out.endswith("1 passed, 2 failed\n")


def test_an_endless_loop_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endless = case("endless", {"call": "spin", "expect": {"error": {"kind": "error"}}}, limits={"seconds": 0.3})
    assert main([str(write(tmp_path, endless))]) == 1
    assert "kind: timeout" in capsys.readouterr().out


def test_only_and_verbose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, PASSING, THROWING)
    assert main([str(file), "--only", "throw", "-v"]) == 0
    assert capsys.readouterr().out == "passed own/throwing\n1 passed, 0 failed\n"
    assert main([str(file), "--only", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({**PASSING, "stpes": []}, "unknown key stpes"),
        (case("x", {"call": "one", "alive": []}), "exactly one of"),
        (case("x", {"expect": {}}), "exactly one of"),
        (case("x", {"call": "one", "expects": {}}), "unknown key expects"),
        ("text", "mapping with an 'id'"),
    ],
)
def test_malformed_cases_are_refused(tmp_path: Path, broken: Any, says: str) -> None:
    with pytest.raises(CaseError, match=says):
        list(read_cases([write(tmp_path, broken)]))


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    write(tmp_path, PASSING, name="a.yaml")
    write(tmp_path, PASSING, name="b.yaml")
    with pytest.raises(CaseError, match="already used"):
        list(read_cases([tmp_path]))


def test_missing_paths_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert main([str(tmp_path)]) == 2
    assert "error:" in capsys.readouterr().err


def test_an_outer_timer_goes_on() -> None:
    import signal

    rung: list[int] = []
    old = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    before = signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with time_limit(5):
            pass
        deadline = time.monotonic() + 5
        while not rung and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, old)
    assert rung
