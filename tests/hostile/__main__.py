"""``python -m tests.hostile``: runs what is marked as an attack, and counts by area what was withstood."""

from __future__ import annotations

import argparse
import os
import sys

import pytest

from tests.hostile.areas import AREAS
from tests.hostile.counting import Counting, files, table


def main() -> int:
    """The exit status: 0 when everything was withstood, 1 when not, 2 when nothing could be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description="Attacks Vetro, and counts by area.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)} [all of them]")
    parser.add_argument("--all", action="store_true", help="also what takes minutes (tests marked as campaigns)")
    parser.add_argument("--list", action="store_true", help="areas and findings with the numbers of their attacks")
    given = parser.parse_args()
    if unknown := sorted(set(given.areas) - set(AREAS)):
        parser.error(f"no such area: {', '.join(unknown)} (areas: {', '.join(AREAS)})")
    if given.all:
        os.environ["VETRO_TEST_ALL"] = "1"
    counting = Counting(given.areas)
    words = ["-q", "-p", "no:cacheprovider", *(["--collect-only", "-qqq"] if given.list else []), *files()]
    status = pytest.main(words, plugins=[counting])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        return 2
    if given.list:
        show_findings(counting)
        return 2 if counting.broken else 0
    return show_results(counting, stopped=status == pytest.ExitCode.INTERRUPTED)


def show_findings(counting: Counting) -> None:
    """Which findings each area has."""
    rows = [("area", "finding", "attacks")]
    for area, findings in sorted(counting.findings.items()):
        rows += [(area, finding, str(count)) for finding, count in sorted(findings.items())]
    width = max(len(row[1]) for row in rows)
    print(f"\n{table([(area, finding.ljust(width), count) for area, finding, count in rows])}")
    print(f"{len(counting.area_of)} attacks")


def show_results(counting: Counting, *, stopped: bool = False) -> int:
    """The table of areas and the line with both sums; the exit status."""
    tallies = counting.tallies()
    rows = [("area", "attacks", "withstood", "failed", "not run")]
    for area, tally in tallies.items():
        counts = (tally.attacks, len(tally.withstood), len(tally.failed), len(tally.not_run))
        rows.append((area, *map(str, counts)))
    print(f"\n{table(rows)}")
    for path in counting.broken:
        print(f"could not be read: {path}")
    passed = sum(len(tally.withstood) for tally in tallies.values())
    failed = sum(len(tally.failed) for tally in tallies.values()) + len(counting.broken)
    if stopped:
        print("stopped before its end")
    print(f"{passed} passed, {failed} failed")
    if failed:
        return 1
    return 2 if stopped or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
