"""The `deploy` group of `run.py`: runs the scenarios of `benchmarks.deployments`, compares them with their goals."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.goals import (
    CHECKPOINT_SECONDS,
    DEPLOY_SERVER_SECONDS,
    FIRST_SERVER_SECONDS,
    LINEAR,
    TEN_SERVERS_SECONDS,
)

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("fleet", "pushes", "replay", "checkpoint", "start", "command", "first-server", "ten-servers")


class Line(NamedTuple):
    """One figure: ``goal`` is text, ``met`` is None where there is none."""

    scenario: str
    what: str
    figure: str
    goal: str = ""
    met: bool | None = None


def measure(name: str, *, small: bool = False) -> Any:
    """Figures of a scenario, from a process of its own; ``{"wrong": text}`` when it failed or gave a wrong result."""
    command = [sys.executable, "-m", "benchmarks.deployments", name, *(["--small"] if small else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"wrong": said[-1] if said else f"the process ended with status {done.returncode}"}
    return json.loads(done.stdout)


def missing(name: str) -> str | None:
    """Why this machine cannot run a scenario; None when it can."""
    from benchmarks.deployments.scenarios import REAL
    from vetro.clouds import kinds
    from vetro.clouds.kind_protocols import Place

    if name not in REAL:
        return None
    choice = kinds.choose(Place(directory=Path("/nonexistent")))
    return None if choice.name == "nspawn" else f"no nspawn servers: {choice.why}"


def exponent(rows: Sequence[dict[str, Any]], key: str) -> float:
    """Growth of a figure between the smallest and the largest size; 1 is linear."""
    first, last = rows[0], rows[-1]
    return math.log(last[key] / first[key]) / math.log(last["servers"] / first["servers"])


def judge(name: str, found: Any) -> Iterator[Line]:
    """The lines of a scenario's figures."""
    if name in ("fleet", "pushes"):
        yield from _fleets(name, found)
    elif name == "replay":
        text = f"{found['wall_s']:.2f} s wall (first run {found['first_wall_s']:.2f} s); {_parts(found)}"
        yield Line(name, f"{found['servers']} servers, again after a kill at the end", text)
    elif name == "checkpoint":
        what = f"model of {found['objects']:,} objects, {found['bytes'] / 1e6:.1f} MB"
        text = f"{_ms(found['wall_s'])} wall (task {_ms(found['task_s'])}, worker {_ms(found['worker_s'])})"
        yield _limited(name, what, text, found["wall_s"], CHECKPOINT_SECONDS)
    elif name == "start":
        yield Line(name, "zygote until it can fork", f"{found['zygote_wall_s']:.2f} s wall, {found['zygote_s']:.2f} s")
        yield Line(name, "fork until the first effect", f"{_ms(found['first_frame_wall_s'])} wall")
    elif name == "command":
        text = f"{found['wall_s']:.2f} s wall, {found['cpu_s']:.2f} s of all processes"
        yield Line(name, "vetro deploy, two recorded servers", text)
    elif name == "first-server":
        text = f"{found['first_s']:.2f} s (push {found['push_s']:.2f} s)"
        yield _limited(name, "push until a script has run", text, found["first_s"], FIRST_SERVER_SECONDS)
    else:
        text = f"{found['wall_s']:.2f} s wall ({found['cpu_s']:.2f} s processor time)"
        what = f"{found['servers']} nspawn servers, each with a script"
        yield _limited(name, what, text, found["wall_s"], TEN_SERVERS_SECONDS)


def _fleets(name: str, rows: Sequence[dict[str, Any]]) -> Iterator[Line]:
    for row in rows:
        count = row["servers"]
        each = row["cpu_s"] / count
        text = f"{_ms(each)} a server: {_parts(row, count)}; {row['wall_s']:.2f} s wall"
        if name == "fleet":
            yield _limited(name, f"{count} servers, one push", text, each, DEPLOY_SERVER_SECONDS)
        else:
            yield Line(name, f"{count} servers, a push each", text)
    grown = [("processor time", "cpu_s")]
    if name == "pushes":
        grown += [("bytes over the pipe", "pipe_bytes"), ("bytes into the journal", "journal_bytes")]
    for what, key in grown:
        value = exponent(rows, key)
        each = "" if key == "cpu_s" else ", a server " + ", ".join(f"{r[key] / r['servers']:,.0f}" for r in rows)
        yield Line(name, what, f"exponent {value:.2f}{each}", "linear", value <= LINEAR)


def _parts(row: dict[str, Any], count: int = 1) -> str:
    names = ("task", "worker", "host")
    return ", ".join(f"{name} {_ms(row[f'{name}_s'] / count)}" for name in names)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _limited(name: str, what: str, text: str, value: float, limit: float) -> Line:
    goal = f"<= {limit:g} s" if limit >= 1 else f"<= {limit * 1e3:g} ms"
    return Line(name, what, text, goal, value <= limit)
