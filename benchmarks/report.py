"""The figures as text, in Markdown tables."""

from __future__ import annotations

from typing import Any

from benchmarks.deploy import Line, judge
from benchmarks.goals import IMPORT_MIB, IMPORT_SECONDS
from benchmarks.measure import Measured

_COLUMNS = (
    "workload",
    "N",
    "ours",
    "native",
    "ratio",
    "exponent",
    "MiB",
    "goal",
    "met",
    "Murano",
    "times ahead",
    "result",
)
_WIDTHS = (20, 6, 8, 8, 6, 8, 5, 16, 4, 8, 11, 6)


def _line(cells: tuple[str, ...]) -> str:
    padded = (
        cell.ljust(width) if number in (0, 7, 8, 11) else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return f"| {' | '.join(padded)} |"


HEADER = _line(_COLUMNS) + "\n" + "|" + "|".join("-" * (width + 2) for width in _WIDTHS) + "|"


def duration(seconds: float | None) -> str:
    """Three digits with a unit."""
    if seconds is None:
        return "-"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} us"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _met(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "NO"


def row(line: Measured) -> str:
    """One workload at one size."""
    ahead = "-" if not line.murano_s or not line.ours_s else f"{line.murano_s / line.ours_s:,.0f}"
    cells = (
        line.name,
        str(line.n),
        duration(line.ours_s),
        duration(line.native_s),
        _number(line.ratio),
        _number(line.exponent),
        _number(line.rss_mib, 0),
        line.goal,
        _met(line.met),
        duration(line.murano_s),
        ahead,
        "WRONG" if line.wrong else "same",
    )
    return _line(cells)


def import_lines(found: list[dict[str, Any]]) -> str:
    """What starting a process costs."""
    out = [f"\nprocess start (goal: <= {IMPORT_SECONDS * 1e3:g} ms CPU, <= {IMPORT_MIB} MiB)"]
    for item in found:
        text = f"  {item['name']:24} {duration(item['cpu_s']):>8} {item['rss_mib']:6.1f} MiB  {item['modules']} modules"
        out.append(f"{text}  {'met: ' + _met(item['met']) if item['met'] is not None else ''}".rstrip())
    return "\n".join(out)


def depth_line(probe: dict[str, Any]) -> str:
    """One kind of nesting."""
    if probe["wrong"]:
        state = f"WRONG: {probe['wrong']}"
    elif probe["ok"]:
        state = "works"
    else:
        state = f"ends with {probe['error']}"
    return f"nesting {probe['kind']:8} {probe['levels']:>9,} levels: {state}"


DEPLOY_HEADER = "\n| deployment | what | figure | goal | met |\n|---|---|---|---|---|"


def deploy_row(line: Line) -> str:
    """One figure of a deployment."""
    return f"| {line.scenario} | {line.what} | {line.figure} | {line.goal} | {_met(line.met)} |"


def _judged(name: str, found: Any) -> list[Line]:
    return [] if "wrong" in found else [line for line in judge(name, found) if line.met is not None]


def summary(document: dict[str, Any], failures: list[str]) -> str:
    """How many goals are met, which are not, and what is wrong."""
    judged = [(w["key"] + " " + w["variant"], w) for w in document["workloads"] if w["met"] is not None]
    missed = []
    for name, w in judged:
        if not w["met"]:
            figures = f"{duration(w['ours_s'])}, {_number(w['ratio'])}x native"
            missed.append(f"  missed: {name.strip()} at {w['n']}: {figures}; goal {w['goal']}")
    deployments = [line for name, found in document.get("deploy", {}).items() for line in _judged(name, found)]
    missed += [f"  missed: {d.scenario}, {d.what}: {d.figure}; goal {d.goal}" for d in deployments if not d.met]
    count = len(judged) + len(deployments)
    out = [f"\n{count - len(missed)} of {count} goals met", *missed]
    out += [f"  WRONG: {failure}" for failure in failures]
    out.append("all results are right" if not failures else f"{len(failures)} results are wrong")
    return "\n".join(out)
