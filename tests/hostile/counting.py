"""Runs the tests that are marked as attacks, and counts by area how they ended: a plug-in of pytest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.hostile.areas import AREAS

TESTS = Path(__file__).resolve().parents[1]


@dataclass
class Tally:
    """How the attacks of one area ended, by the names of their tests."""

    withstood: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    not_run: set[str] = field(default_factory=set)

    @property
    def attacks(self) -> int:
        return len(self.withstood | self.failed | self.not_run)


class Counting:
    """Keeps the attacks of some areas (all of them: none named) among the collected tests, and counts them."""

    def __init__(self, areas: Iterable[str] = ()) -> None:
        self.areas = frozenset(areas)
        self.area_of: dict[str, str] = {}
        #: Area, then finding: how many attacks.
        self.findings: dict[str, dict[str, int]] = {}
        self._skipped: set[str] = set()
        self._failed: set[str] = set()
        self._passed: set[str] = set()
        #: Files that could not be read as tests: their attacks count as failed.
        self.broken: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leaves out what is no attack. An area that does not exist is an error."""
        kept, others = [], []
        for item in items:
            mark = item.get_closest_marker("attack")
            if mark is None:
                others.append(item)
                continue
            area, finding = named(mark, item.nodeid)
            if self.areas and area not in self.areas:
                others.append(item)
                continue
            kept.append(item)
            self.area_of[item.nodeid] = area
            findings = self.findings.setdefault(area, {})
            findings[finding] = findings.get(finding, 0) + 1
        config.hook.pytest_deselected(items=others)
        items[:] = kept

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.skipped:
            self._skipped.add(report.nodeid)
        elif report.when == "teardown":
            self._passed.add(report.nodeid)

    def tallies(self) -> dict[str, Tally]:
        """By area, in the order of the alphabet."""
        found: dict[str, Tally] = {area: Tally() for area in sorted(set(self.area_of.values()))}
        for test, area in self.area_of.items():
            tally = found[area]
            if test in self._failed:
                tally.failed.add(test)
            elif test in self._passed and test not in self._skipped:
                tally.withstood.add(test)
            else:
                tally.not_run.add(test)
        return found


def named(mark: pytest.Mark, test: str) -> tuple[str, str]:
    """Area and finding of a mark. Raises `pytest.UsageError` for one that names them wrongly."""
    if len(mark.args) != 2 or mark.kwargs or not all(isinstance(arg, str) and arg for arg in mark.args):
        raise pytest.UsageError(f"{test}: a mark is attack(AREA, FINDING), both texts")
    area, finding = mark.args
    if area not in AREAS:
        raise pytest.UsageError(f"{test}: there is no area {area!r} (areas: {', '.join(sorted(AREAS))})")
    return area, finding


def files() -> list[str]:
    """The test files that mark attacks: reading the others would take longer than some attacks."""
    return [str(path) for path in sorted(TESTS.rglob("test_*.py")) if "mark.attack(" in path.read_text()]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns below each other: the first one to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
