"""The benchmarks of pages make what they say, and judge it."""

from __future__ import annotations

import json
import subprocess
import sys
from string import Formatter

import pytest

from benchmarks import pages, pages_browser
from benchmarks.service import many
from tests.browser.kit import ROOT
from tests.browser.test_pages import PAGES
from vetro.model.environment import deployed_objects
from vetro.model.tree import objects


def test_rows_in_bulk_are_read_by_the_rules(db: None) -> None:
    from vetro.server.environments import queries
    from vetro.server.environments.models import Environment, State
    from vetro.server.tasks.models import Task

    project = "1" * 32
    many.environments(project, "2" * 32, 10)
    found = queries.of_project(project)
    assert [row.name for row in found] == [f"Fair {n:05}" for n in range(10)]
    assert {row.status for row in found} == {"ready", "pending", "deploy failure"}
    assert Task.objects.count() == 30
    own = many.large(project, "2" * 32, 40, 6)
    states = State.objects.filter(environment=own).order_by("number")
    assert [state.number for state in states] == [1, 2, 3, 4, 5, 6]
    root = deployed_objects(states.last().model)  # type: ignore[union-attr]
    assert len(list(objects(root))) == 41  # and the environment itself
    assert queries.part_of(project, None, 50)[-1].name == Environment.objects.get(id=own).name


def test_every_page_is_asked_for() -> None:
    addresses = [address for _, address in PAGES.values()]
    wanted = {name for address in addresses for _, name, _, _ in Formatter().parse(address) if name}
    ids = dict.fromkeys(wanted | {"large"}, "x")
    listed = list(pages.pages(ids))
    assert len({name for name, *_ in listed}) == len(listed) == len(PAGES) + len(pages.MORE) + len(pages.LARGE)
    assert not [address for _, _, address, _, _ in listed if "{" in address]
    assert [goal for *_, goal in listed].count(False) == len(pages.LARGE)


@pytest.mark.parametrize(("times", "found"), [([1.0], 1.0), ([float(n) for n in range(100)], 94.0), ([3.0, 1.0], 3.0)])
def test_percentiles(times: list[float], found: float) -> None:
    assert pages._p95(times) == pages_browser._p95(times) == found


def test_missed_goals_are_named() -> None:
    assert pages_browser.Figure("x", 2.0, 1.0, "ms").line().endswith("missed")
    assert not pages_browser.Figure("x", 1.0, 2.0, "ms").line().endswith("missed")


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_a_small_service_is_filled_and_every_page_answers() -> None:
    words = [sys.executable, "-m", "benchmarks.pages", "--packages", "30", "--environments", "5", "--rounds", "1"]
    done = subprocess.run([*words, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    assert len(json.loads(done.stdout)) == len(PAGES) + len(pages.MORE) + len(pages.LARGE)
