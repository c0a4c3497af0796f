"""The benchmark measures the right thing: both sides do the recorded work, and a wrong result is noticed."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run as command
from benchmarks.adapter_vetro import Adapter
from benchmarks.checksum import canonical, checksum
from benchmarks.goals import GOALS, Goal
from benchmarks.measure import Measured, Recorded, measure_depth, measure_pairs
from benchmarks.native import NATIVE
from benchmarks.workloads.definitions import REGISTRY

RECORDED = Recorded.read()


def expected(key: str, n: int) -> str | None:
    found: str | None = RECORDED.of(key, n).get("checksum")
    return found


@pytest.mark.parametrize("key", REGISTRY)
def test_hand_written_versions_do_the_recorded_work(key: str, tmp_path: Path) -> None:
    n = REGISTRY[key].sizes[0]
    native = NATIVE[key]
    found = checksum(native.run(n, native.prepare(n, str(tmp_path))))
    assert found == (expected(key, n) or expected("n1_ui", n))


@pytest.mark.parametrize("key", REGISTRY)
def test_vetro_does_the_recorded_work(key: str, tmp_path: Path) -> None:
    workload = REGISTRY[key]
    n = workload.sizes[0]
    adapter = Adapter()
    result = workload.run(adapter, n, workload.prepare(adapter, n, str(tmp_path)))
    assert checksum(adapter.comparable(result)) == (expected(key, n) or expected("n1_ui", n))
    adapter.close_model()


def test_every_recorded_workload_is_measured() -> None:
    assert set(RECORDED.murano) <= set(REGISTRY)
    assert set(REGISTRY) == set(NATIVE)
    assert {name.split()[0] for name in GOALS} <= set(REGISTRY)


def test_a_pair_is_measured_and_judged() -> None:
    line = measure_pairs(REGISTRY["a1_while"], 1000, "", 2, RECORDED, seconds=0.0)
    assert line.wrong == ""
    assert line.ours_s is not None and line.native_s is not None and line.ours_s > line.native_s > 0
    assert len(line.ratios) == 2
    assert line.murano_s == RECORDED.of("a1_while", 1000)["cpu_s"]


def test_a_differing_checksum_is_wrong() -> None:
    altered = dataclasses.replace(RECORDED, murano={"a1_while": {"1000": {"checksum": "0" * 16, "cpu_s": 1.0}}})
    line = measure_pairs(REGISTRY["a1_while"], 1000, "", 1, altered, seconds=0.0)
    assert "differs from the recorded one" in line.wrong


@pytest.mark.parametrize("wrong", ["", "checksum differs"])
def test_exit_status_and_json(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(workload: Any, n: int, variant: str, *_args: Any, **_kwargs: Any) -> Measured:
        return Measured(
            workload.key, variant, n, "", n == 15, ours_s=1e-4 * n, native_s=1e-4, ratio=n / 10, wrong=wrong
        )

    monkeypatch.setattr(command, "measure_pairs", measured)
    file = tmp_path / "figures.json"
    assert command.main(["--only", "b2_fib", "--json", str(file)]) == (1 if wrong else 0)
    lines = json.loads(file.read_text())["workloads"]
    assert [line["n"] for line in lines] == [8, 12, 15]
    assert lines[-1]["met"] is True
    assert "1 of 1 goals met" in capsys.readouterr().out


def run_copy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`benchmarks/run.py` of a copy of the benchmarks, as a person starts it."""
    return subprocess.run(
        [sys.executable, str(folder / "benchmarks" / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.campaign
def test_the_command_measures_and_compares(tmp_path: Path) -> None:
    shutil.copytree(Path(command.__file__).parent, tmp_path / "benchmarks")
    good = run_copy(tmp_path, "--only", "b2_fib", "--quick")
    assert good.returncode == 0, good.stdout + good.stderr
    assert good.stdout.rstrip().endswith("all results are right")
    recorded = tmp_path / "benchmarks" / "recorded.json"
    data = json.loads(recorded.read_text())
    for row in data["murano"]["b2_fib"].values():
        row["checksum"] = "0" * 16
    recorded.write_text(json.dumps(data))
    bad = run_copy(tmp_path, "--only", "b2_fib", "--quick")
    assert bad.returncode == 1
    assert "differs from the recorded one" in bad.stdout


@pytest.mark.parametrize(
    ("goal", "figures", "met"),
    [
        (Goal(3), {"ours_s": 3.0, "native_s": 1.0, "ratio": 3.0}, True),
        (Goal(3), {"ours_s": 3.1, "native_s": 1.0, "ratio": 3.1}, False),
        (Goal(3), {}, False),
        (Goal(seconds=1.0), {"ours_s": 0.9}, True),
        (Goal(seconds=1.0), {"ours_s": 1.1}, False),
        (Goal(seconds=0.01, per_item=True), {"ours_s": 0.9}, True),
        (Goal(seconds=0.01, per_item=True), {"ours_s": 1.1}, False),
    ],
)
def test_goals(goal: Goal, figures: dict[str, float], met: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GOALS, "a1_while", goal)
    line = Measured("a1_while", "", 100, "", True, **figures)  # type: ignore[arg-type]
    line.judge(None, Recorded({}, {}))
    assert line.met is met
    smaller = Measured("a1_while", "", 10, "", False, **figures)  # type: ignore[arg-type]
    smaller.judge(None, Recorded({}, {}))
    assert smaller.met is None


def test_growth_counts() -> None:
    def line(n: int, seconds: float) -> Measured:
        return Measured("e1_load", "", n, "", n == 1000, ours_s=seconds, native_s=seconds, ratio=1.0)

    small, linear, quadratic = line(100, 1.0), line(1000, 10.0), line(1000, 100.0)
    linear.judge(small, RECORDED)
    assert linear.met is True and linear.exponent == pytest.approx(1.0)
    quadratic.native_s = None
    quadratic.judge(small, RECORDED)
    assert quadratic.met is False and quadratic.exponent == pytest.approx(2.0)


@pytest.mark.campaign
def test_nesting_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.measure.DEPTH_KINDS", ("call",))
    monkeypatch.setattr("benchmarks.measure.OWNED_DEPTH", 50)
    probes = list(measure_depth())
    assert [(p["kind"], p["goal"], p["ok"], p["wrong"]) for p in probes] == [
        ("call", True, True, ""),
        ("call", False, False, ""),
        ("owned", True, True, ""),
        ("owned", False, False, ""),
    ]


def test_canonical_form() -> None:
    assert canonical({1: (1, 2), "a": {3, 1}}) == {"1": [1, 2], "a": [1, 3]}
    assert checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1})
    assert checksum([1, 2]) != checksum([2, 1])
