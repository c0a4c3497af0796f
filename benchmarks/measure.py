"""Measuring: paired runs of two processes, what importing costs, and how deep things may be nested."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.goals import DEPTH, GOALS, IMPORT_MIB, IMPORT_SECONDS, LINEAR, OWNED_DEPTH
from benchmarks.native import NATIVE
from benchmarks.workloads.definitions import Workload

ROOT = Path(__file__).resolve().parents[1]
DEPTH_KINDS = ("call", "select", "order", "default", "check", "init")
BEYOND = {"owned": 200_000}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded once: the old engine's results and times, and hand-written Python's times beside them."""

    murano: dict[str, dict[str, dict[str, Any]]]
    native_cpu_s: dict[str, dict[str, float]]

    @classmethod
    def read(cls) -> Recorded:
        data = json.loads(Path(__file__).with_name("recorded.json").read_text())
        return cls(data["murano"], data["native_cpu_s"])

    def of(self, key: str, n: int) -> dict[str, Any]:
        """Checksum and CPU time of Murano; empty where it was not run."""
        return self.murano.get(key, {}).get(str(n), {})


class Worker:
    """One side of a comparison, as a process; ``root`` is a checkout with an environment of its own, else this one."""

    def __init__(self, *arguments: str, root: Path | None = None) -> None:
        python = sys.executable if root is None else str(root / ".venv" / "bin" / "python")
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", *arguments],
            cwd=root or ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, seconds: float) -> dict[str, Any]:
        """The best of the runs that fit into so many seconds, at least of one."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"the process ended with status {self._process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@dataclass(slots=True)
class Measured:
    """One line of the table."""

    key: str
    variant: str
    n: int
    title: str
    largest: bool
    ours_s: float | None = None
    native_s: float | None = None
    ratio: float | None = None
    rss_mib: float | None = None
    murano_s: float | None = None
    exponent: float | None = None
    native_exponent: float | None = None
    goal: str = ""
    met: bool | None = None
    wrong: str = ""
    ratios: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.key} {self.variant}".strip()

    def as_json(self) -> dict[str, Any]:
        """All figures."""
        return asdict(self)

    def judge(self, smaller: Measured | None, recorded: Recorded) -> None:
        """Compares with the goal, which counts at the largest size; ``smaller`` is the line of the size before."""
        if smaller is not None and self.ours_s and smaller.ours_s:
            factor = math.log(self.n / smaller.n)
            self.exponent = math.log(self.ours_s / smaller.ours_s) / factor
            if self.native_s and smaller.native_s:
                self.native_exponent = math.log(self.native_s / smaller.native_s) / factor
        goal = GOALS.get(self.name)
        if goal is None or not self.largest:
            return
        self.goal = goal.text()
        if self.ours_s is None:
            self.met = False
            return
        met = True
        if goal.ratio is not None:
            met = self.ratio is not None and self.ratio <= goal.ratio
        if goal.seconds is not None:
            # Absolute goals are for the machine the records are from; its hand-written times tell how fast this one is.
            then = recorded.native_cpu_s.get(self.key, {}).get(str(self.n))
            scale = self.native_s / then if then and self.native_s else 1.0
            met = met and self.ours_s / (self.n if goal.per_item else 1) <= goal.seconds * max(scale, 1.0)
        if goal.linear and self.exponent is not None:
            met = met and self.exponent <= max(LINEAR, (self.native_exponent or 0) + 0.1)
        self.met = met


def measure_pairs(
    workload: Workload, n: int, variant: str, pairs: int, recorded: Recorded, *, seconds: float
) -> Measured:
    """Runs both sides in turns; `Measured.wrong` says what is wrong with the result."""
    line = Measured(workload.key, variant, n, workload.title, n == max(workload.sizes))
    reference = recorded.of(workload.key, n)
    line.murano_s = reference.get("cpu_s")
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        ours = _ours(workload, n, variant, cache, folder)
        sides = [Side(ours)]
        if workload.key in NATIVE:
            sides.append(Side(("native", workload.key, str(n))))
        if variant == "cached":
            sides[0].run_once()
        answers = _alternate(sides, pairs, seconds, fresh=workload.cold)
    for answer in answers:
        error = next((a["error"] for a in answer if "error" in a), None)
        if error is not None:
            line.wrong = error
            return line
    mine = answers[0]
    line.ours_s = statistics.median(a["cpu_s"] for a in mine)
    line.rss_mib = max(a["rss_mib"] for a in mine)
    expected = reference.get("checksum")
    source = "the recorded one"
    if len(answers) > 1:
        line.native_s = statistics.median(a["cpu_s"] for a in answers[1])
        line.ratios = [a["cpu_s"] / max(b["cpu_s"], 1e-9) for a, b in zip(mine, answers[1], strict=True)]
        line.ratio = statistics.median(line.ratios)
        if expected is None:
            expected, source = answers[1][0]["checksum"], "the hand-written version's"
    found = {a["checksum"] for a in mine}
    if expected is not None and found != {expected}:
        line.wrong = f"checksum {', '.join(sorted(found))} differs from {source}, {expected}"
    return line


def measure_checkouts(workload: Workload, n: int, variant: str, pairs: int, other: Path, *, seconds: float) -> Compared:
    """Runs a workload here and in the checkout ``other``, in turns."""
    with tempfile.TemporaryDirectory() as mine, tempfile.TemporaryDirectory() as theirs:
        sides = []
        for root, place in ((None, Path(mine)), (other, Path(theirs))):
            for name in ("cache", "folder"):
                (place / name).mkdir()
            found = _ours(workload, n, variant, str(place / "cache"), str(place / "folder"))
            sides.append(Side(found, root))
        if variant == "cached":
            for side in sides:
                side.run_once()
        answers = _alternate(sides, pairs, seconds, fresh=workload.cold)
    name = f"{workload.key} {variant}".strip()
    error = next((f"{a['error']}" for answer in answers for a in answer if "error" in a), "")
    if error:
        return Compared(name, n, wrong=error)
    if len({a["checksum"] for answer in answers for a in answer}) != 1:
        return Compared(name, n, wrong="the checksums differ")
    ours, before = ([a["cpu_s"] for a in answer] for answer in answers)
    ratios = sorted(a / max(b, 1e-9) for a, b in zip(ours, before, strict=True))
    return Compared(name, n, statistics.median(ours), statistics.median(before), ratios)


@dataclass(frozen=True, slots=True)
class Compared:
    """A workload here and in another checkout: medians in seconds, and the ratios of the pairs, smallest first."""

    name: str
    n: int
    ours_s: float = 0.0
    other_s: float = 0.0
    ratios: list[float] = field(default_factory=list)
    wrong: str = ""

    @property
    def ratio(self) -> float:
        """The median of the pairs."""
        return statistics.median(self.ratios)


@dataclass(frozen=True, slots=True)
class Side:
    """What a worker is started with, and in which checkout."""

    arguments: tuple[str, ...]
    root: Path | None = None

    def start(self) -> Worker:
        """A process of it."""
        return Worker(*self.arguments, root=self.root)

    def run_once(self) -> None:
        """Fills its cache."""
        worker = self.start()
        worker.run(0.0)
        worker.close()


def _ours(workload: Workload, n: int, variant: str, cache: str, folder: str) -> tuple[str, ...]:
    arguments = ["vetro", workload.key, str(n)]
    if variant == "cached":
        arguments += ["--cache", cache, "--folder", folder]
    if variant != "compiled" and workload.key.startswith("j"):
        arguments.append("--lazy")
    return tuple(arguments)


def _alternate(sides: Sequence[Side], pairs: int, seconds: float, *, fresh: bool) -> tuple[list[dict[str, Any]], ...]:
    """Answers of each side, in the order of pairs; ``fresh``: a new process for every run, and one run only."""
    answers: tuple[list[dict[str, Any]], ...] = tuple([] for _ in sides)
    workers = [] if fresh else [side.start() for side in sides]
    for _ in range(pairs):
        for number, side in enumerate(sides):
            worker = side.start() if fresh else workers[number]
            answers[number].append(worker.run(0.0 if fresh else seconds))
            if fresh:
                worker.close()
    for worker in workers:
        worker.close()
    return answers


_IMPORT = """
import sys, time
before = time.process_time()
{statement}
seconds = time.process_time() - before
with open("/proc/self/status", encoding="ascii") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
print(seconds, peak / 1024, len(sys.modules))
"""
IMPORTS = {
    "import vetro.muranopl": "import vetro.muranopl",
    "Engine, ready": "from vetro.muranopl import Engine; Engine().session()",
}


def measure_import(pairs: int) -> list[dict[str, Any]]:
    """CPU time and peak memory of a process that imports the language, and of one that has an engine ready."""
    result = []
    for name, statement in IMPORTS.items():
        runs = []
        for _ in range(pairs):
            output = subprocess.run(
                [sys.executable, "-c", _IMPORT.format(statement=statement)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            runs.append((float(output[0]), float(output[1]), int(output[2])))
        seconds = statistics.median(r[0] for r in runs)
        rss = max(r[1] for r in runs)
        met = seconds <= IMPORT_SECONDS and rss <= IMPORT_MIB if name.startswith("import") else None
        result.append({"name": name, "cpu_s": seconds, "rss_mib": round(rss, 1), "modules": runs[0][2], "met": met})
    return result


def measure_depth() -> Iterator[dict[str, Any]]:
    """Each kind of nesting at its goal, where it has to work, and far beyond, where a named error is right."""
    for kind in (*DEPTH_KINDS, "owned"):
        goal = OWNED_DEPTH if kind == "owned" else DEPTH
        for levels in (goal, BEYOND.get(kind, 1_000_000)):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.depth", kind, str(levels)], cwd=ROOT, capture_output=True, text=True
            )
            answer: dict[str, Any] = {"ok": False, "error": done.stderr[-200:]}
            wrong = ""
            if done.returncode != 0:
                wrong = f"the process ended with status {done.returncode}"
            else:
                answer = json.loads(done.stdout)
                if levels == goal and not answer["ok"]:
                    wrong = answer["error"]
                elif levels != goal and answer.get("error_kind") != "limit-exceeded":
                    wrong = answer.get("error", "there is no limit")
            yield {"kind": kind, "levels": levels, "goal": levels == goal, **answer, "wrong": wrong}
