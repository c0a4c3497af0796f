"""Bodies of plans and the answers that come of them."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agentworld import body_plan, script_plan
from vetro.agent.guest import result
from vetro.agent.guest.errors import PlanError
from vetro.agent.guest.run import answer_plan


@pytest.fixture(autouse=True)
def keep_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The runner changes the working directory of its process."""
    monkeypatch.chdir(tmp_path)


def run(plan: Any, tmp_path: Path) -> dict[str, Any]:
    body = plan if isinstance(plan, bytes) else json.dumps(plan).encode()
    found = json.loads(answer_plan("the id", body, str(tmp_path / "work")))
    assert not (tmp_path / "work").exists()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return", None),
        ("pass", None),
        ("return 1 + 1", 2),
        ("  return 1\n", 1),
        ("\tx = 1\n\tif x:\n\t\treturn 'tab'", "tab"),
        ("    x = 2\n    return x", 2),
        ("import os, math\nreturn math.floor(2.5)", 2),
        ("def f(n):\n  return n * 2\nreturn [f(n) for n in range(3)]", [0, 2, 4]),
        ('return """a\n  b\nc"""', "a\n  b\nc"),
        ("return '{0}'.format(args.x.y)", "deep"),
        ("return args['list'][0].z", 1),
        ("try:\n  args.missing\nexcept AttributeError:\n  return 'no'", "no"),
        ("return sorted(args)", ["list", "x"]),
        ("return {1: (1, 2)}", {"1": [1, 2]}),
        ("# comment\nreturn 'ж'", "ж"),
    ],
)
def test_bodies(tmp_path: Path, body: str, value: Any) -> None:
    plan = body_plan(body, Parameters={"x": {"y": "deep"}, "list": [{"z": 1}]})
    answer = run(plan, tmp_path)
    assert answer["ErrorCode"] == 0, answer
    assert answer["Body"] == value


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("return +", 1, "syntax"),
        ("x = 1\n   y = 2", 1, "indent"),
        ("raise ValueError('wrong')", 1, "wrong"),
        ("raise KeyError", 1, "KeyError"),
        ("import sys\nsys.exit(4)", 1, "4"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("return missing()", 1, "missing"),
        ("return object()", 1, "JSON"),
        ("return b'x'", 1, "JSON"),
        ("return float('nan')", 1, "JSON"),
        ("x = []\nx.append(x)\nreturn x", 1, "JSON"),
        ("x = []\nfor i in range(100000): x = [x]\nreturn x", 1, "JSON"),
        ("yield 1", 1, "JSON"),
        ("# nothing", 2, "statement"),
    ],
)
def test_bodies_that_fail(tmp_path: Path, body: str, code: int, message: str) -> None:
    answer = run(body_plan(body), tmp_path)
    assert (answer["ErrorCode"], answer["SourceID"]) == (code, "the id")
    assert message in answer["Body"]["Message"]


def test_the_working_folder_is_removed_and_may_be_left_over(tmp_path: Path) -> None:
    (tmp_path / "work" / "s").mkdir(parents=True)
    assert run(script_plan("pwd"), tmp_path)["Body"] == str(tmp_path / "work" / "s")


def test_bodies_may_catch_errors_of_scripts(tmp_path: Path) -> None:
    body = "try:\n  s()\nexcept Exception as e:\n  return [e.error_code, e.additional_data.exitCode]"
    assert run(script_plan("exit 5", body=body), tmp_path)["Body"] == [100, 5]


def test_the_result_of_a_script_is_a_map(tmp_path: Path) -> None:
    answer = run(script_plan("echo x", body="return s()"), tmp_path)
    assert answer["Body"] == {"exitCode": 0, "stdout": "x", "stderr": None}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_plan(tmp_path: Path, body: bytes) -> None:
    answer = run(body, tmp_path)
    assert answer["ErrorCode"] in (1, 2)
    assert answer["Body"]["Message"]


def test_an_empty_plan_without_version_is_malformed(tmp_path: Path) -> None:
    assert run({"Body": "return"}, tmp_path)["ErrorCode"] == 2
    plan = body_plan("return 1")
    del plan["FormatVersion"]
    assert run({**plan, "Scripts": None}, tmp_path)["ErrorCode"] == 2


def test_shape_of_a_result(tmp_path: Path) -> None:
    answer = run(body_plan("return 1"), tmp_path)
    assert sorted(answer) == ["Action", "Body", "ErrorCode", "FormatVersion", "ID", "SourceID", "Time"]
    assert answer["ID"] != answer["SourceID"]
    answer = run(body_plan("raise ValueError('x')"), tmp_path)
    assert answer["Body"] == {"Message": "x", "AdditionalInfo": None}


def test_errors_that_are_too_large_or_no_json() -> None:
    for data in ("x" * 20_000_000, object()):
        found = json.loads(result.failure("id", PlanError(100, "m" * 200_000, data)))
        assert found["ErrorCode"] == 100
        assert found["Body"]["AdditionalInfo"] is None
        assert len(found["Body"]["Message"]) == 100_000
    assert json.loads(result.plain({"IsException": False, "Result": "x" * 20_000_000}))["IsException"] is True


# -- the first format --------------------------------------------------------------------------------------------------

OLD = {
    "Scripts": [base64.b64encode(b"function Test-It { }").decode()],
    "Commands": [{"Name": "Test-It", "Arguments": {"a": 1}}],
    "RebootOnCompletion": 0,
}


def test_first_format_without_powershell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = run(OLD, tmp_path)
    assert sorted(answer) == ["IsException", "Result"]
    assert answer["IsException"] is True
    assert "pwsh" in answer["Result"][1]


def test_first_format_with_powershell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pwsh").write_text(
        "#!/bin/sh\ncat script0.ps1 >&2; grep -q Test-It plan.json || exit 1\n"
        "echo noise; echo 'muranoagent-answer:"
        """{"IsException": false, "Result": [{"IsException": false, "Result": [1]}]}'\n"""
    )
    (tmp_path / "pwsh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert run({**OLD, "FormatVersion": "1.0.0"}, tmp_path)["Result"] == [{"IsException": False, "Result": [1]}]
    (tmp_path / "pwsh").write_text("#!/bin/sh\nexit 3\n")
    answer = run(OLD, tmp_path)
    assert (answer["IsException"], "code 3" in answer["Result"][1]) == (True, True)


@pytest.mark.parametrize(
    "change", [{"Scripts": [1]}, {"Scripts": "x"}, {"Commands": [{}]}, {"Commands": "x"}, {"Scripts": ["!"]}]
)
def test_malformed_first_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    (tmp_path / "pwsh").write_text("#!/bin/sh\n")
    (tmp_path / "pwsh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run({**OLD, **change}, tmp_path)["ErrorCode"] == 2
