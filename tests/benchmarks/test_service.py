"""The generator of load for the service: what wrk is asked, and what is made of its answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.service import wrk

REPORT = '{"requests":3000,"microseconds":1500000,"p50":412.0,"p99":2750.0,"refused":%d,"broken":%d}'


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program `wrk` that writes down its arguments and reports what the file ``report`` has."""
    (tmp_path / "wrk").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\ncat {tmp_path}/report\n')
    (tmp_path / "wrk").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_figures_are_those_that_wrk_tells(program: Path) -> None:
    (program / "report").write_text(f"Running 2s test\n  1 threads\n{REPORT % (0, 0)}\n")
    assert wrk.there()
    row = wrk.run(8082, "POST", "/v1/x?a=b", {"X-Auth-Token": "t"}, '{"name": "n-%d"}', 8, 0.5)
    assert row == {"rate": 2000.0, "p50_ms": 0.41, "p99_ms": 2.75}
    asked = (program / "asked").read_text().splitlines()
    assert {"-t1", "-c8", "-d1s", "X-Auth-Token: t"} <= set(asked)
    assert asked[-4:] == ["http://127.0.0.1:8082/v1/x?a=b", "--", "POST", '{"name": "n-%d"}']


def test_errors_are_no_speed(program: Path) -> None:
    for refused, broken in ((7, 0), (0, 2)):
        (program / "report").write_text(REPORT % (refused, broken) + "\n")
        row = wrk.run(8082, "GET", "/", {}, "", 1, 1)
        assert row["wrong"] == f"{refused} of 3000 answers were errors, {broken} did not come"
