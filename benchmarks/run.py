#!/usr/bin/env python3
"""Runs the workloads on Vetro and on hand-written Python, and compares times with the goals and results with records.

    benchmarks/run.py [--only KEY] [--json FILE] [--quick] [--pairs N]

A figure is the median of paired runs: two processes, one a side, take turns. Exit status 1: a result differs from the
recorded one (or, where none is recorded, from the hand-written one's), or a probe of nesting ended wrongly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import deploy, report  # noqa: E402 - the script is started by its path
from benchmarks.measure import (  # noqa: E402
    Measured,
    Recorded,
    measure_depth,
    measure_import,
    measure_pairs,
)
from benchmarks.service import table as service  # noqa: E402
from benchmarks.workloads.definitions import REGISTRY, Workload  # noqa: E402

#: Sizes above it, and more than one pair, are left out with --quick.
QUICK_SIZE = 10_000
PAIRS = 5


def variants(workload: Workload) -> tuple[str, ...]:
    """The lines of a workload: package loading is measured without a cache, with one, and with all code compiled."""
    if workload.key in ("j1_core", "j2_big"):
        return ("", "cached", "compiled")
    return ("",)


def run_workloads(keys: Iterable[str], pairs: int, *, quick: bool, recorded: Recorded) -> Iterator[Measured]:
    """Measures one line after the other."""
    for key in keys:
        workload = REGISTRY[key]
        for n in workload.sizes:
            if quick and n > QUICK_SIZE:
                continue
            for variant in variants(workload):
                yield measure_pairs(workload, n, variant, pairs, recorded, seconds=0.0 if quick else 0.3)


def run_deploy(names: Iterable[str], found: dict[str, Any], *, small: bool) -> list[str]:
    """Measures deployments, puts the figures into ``found``; what went wrong."""
    failures = []
    print(report.DEPLOY_HEADER, flush=True)
    for name in names:
        missing = deploy.missing(name)
        if missing is not None:
            print(report.deploy_row(deploy.Line(name, "not measured", missing)), flush=True)
            continue
        figures = found[name] = deploy.measure(name, small=small)
        if "wrong" in figures:
            failures.append(f"deploy {name}: {figures['wrong']}")
            continue
        for line in deploy.judge(name, figures):
            print(report.deploy_row(line), flush=True)
    return failures


def main(arguments: list[str] | None = None) -> int:
    """Exit status of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        default="",
        metavar="KEY",
        help="start of keys, several with commas; also import, depth, deploy and service",
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures there as JSON")
    parser.add_argument("--quick", action="store_true", help="one pair each, no sizes above 10,000")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help=f"pairs of runs (default {PAIRS})")
    options = parser.parse_args(arguments)
    wanted = [part for part in options.only.split(",") if part]

    def chosen(key: str) -> bool:
        return not wanted or any(key.startswith(part) for part in wanted)

    keys = [key for key in REGISTRY if chosen(key)]
    scenarios = [name for name in deploy.NAMES if chosen(f"deploy {name}")]
    if not keys and not scenarios and not any(map(chosen, ("import", "depth", "service"))):
        groups = ("import", "depth", "service", "deploy")
        known = ", ".join((*REGISTRY, *groups, *(f"'deploy {name}'" for name in deploy.NAMES)))
        parser.error(f"nothing is called {options.only!r}; there are {known}")
    pairs = options.pairs or (1 if options.quick else PAIRS)
    recorded = Recorded.read()
    document: dict[str, Any] = {"pairs": pairs, "workloads": []}
    failures: list[str] = []
    if keys:
        print(report.HEADER, flush=True)
        before: dict[str, Measured] = {}
        for line in run_workloads(keys, pairs, quick=options.quick, recorded=recorded):
            line.judge(before.get(line.name), recorded)
            before[line.name] = line
            document["workloads"].append(line.as_json())
            print(report.row(line), flush=True)
            if line.wrong:
                failures.append(f"{line.name} {line.n}: {line.wrong}")
    if chosen("import"):
        document["import"] = measure_import(pairs)
        print(report.import_lines(document["import"]), flush=True)
    if chosen("depth"):
        document["depth"] = []
        for probe in measure_depth():
            document["depth"].append(probe)
            print(report.depth_line(probe), flush=True)
            if probe["wrong"]:
                failures.append(f"depth {probe['kind']} {probe['levels']}: {probe['wrong']}")
    if scenarios:
        document["deploy"] = {}
        failures += run_deploy(scenarios, document["deploy"], small=options.quick)
    if chosen("service"):
        figures = document["service"] = service.measure(small=options.quick)
        if "wrong" not in figures:
            print("\n".join((service.HEADER, *service.lines(figures))), flush=True)
        failures += service.failures(figures)
    if options.json:
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    print(report.summary(document, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
