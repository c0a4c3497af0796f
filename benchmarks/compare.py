"""Compares the workloads of this checkout with those of another one, say of the commit before a change.

    python -m benchmarks.compare FOLDER [--only KEY] [--pairs N]

FOLDER is a work tree with an environment of its own (`git worktree add --detach FOLDER COMMIT`, `script/setup` there).
Both run in turns, in processes of their own, so a machine that becomes slower or faster does so for both. A row is the
median of the ratios of the pairs, with the least and the largest one. Status 1: results differ, or a process failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.measure import measure_checkouts
from benchmarks.run import PAIRS, variants
from benchmarks.workloads.definitions import REGISTRY

#: No row may be slower than so many times what it was.
MOST = 1.05


def main(arguments: list[str] | None = None) -> int:
    """Exit status of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the other checkout")
    parser.add_argument("--only", default="", metavar="KEY", help="start of keys, several with commas")
    parser.add_argument("--pairs", type=int, default=PAIRS, metavar="N", help=f"pairs of runs (default {PAIRS})")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each run (default 0.3)")
    parser.add_argument("--largest", action="store_true", help="only the largest size of each workload")
    options = parser.parse_args(arguments)
    if not (options.folder / ".venv" / "bin" / "python").exists():
        parser.error(f"{options.folder} has no environment: run script/setup there")
    starts = tuple(part for part in options.only.split(",") if part)
    keys = [key for key in REGISTRY if not starts or key.startswith(starts)]
    if not keys:
        parser.error(f"no workload's key starts with {options.only!r}; there are {', '.join(REGISTRY)}")
    slower, wrong = [], False
    print("| workload | N | here | there | ratio | least | largest |\n|---|---|---|---|---|---|---|", flush=True)
    for key in keys:
        workload = REGISTRY[key]
        for n in workload.sizes[-1:] if options.largest else workload.sizes:
            for variant in variants(workload):
                row = measure_checkouts(workload, n, variant, options.pairs, options.folder, seconds=options.seconds)
                if row.wrong:
                    wrong = True
                    print(f"| {row.name} | {n} | {row.wrong} | | | | |", flush=True)
                    continue
                print(
                    f"| {row.name} | {n} | {row.ours_s * 1e3:.3f} ms | {row.other_s * 1e3:.3f} ms "
                    f"| {row.ratio:.3f} | {row.ratios[0]:.3f} | {row.ratios[-1]:.3f} |",
                    flush=True,
                )
                if row.ratio > MOST:
                    slower.append(f"{row.name} {n}")
    print(f"slower than {MOST:g} times: {', '.join(slower) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
