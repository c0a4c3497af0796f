"""The recorded exchanges of Murano's API, replayed against a real `vetro serve` (golden/RECORDING.md, docs/v1.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.golden import page
from tests.acceptance.golden.deviations import DEVIATIONS
from tests.acceptance.golden.people import Site
from tests.acceptance.golden.recording import files, in_order, load
from tests.acceptance.golden.replay import Outcome, Replay
from tests.support.fuzzing import EVERYTHING

# Whoever comes first waits for the whole replay: most of a minute, where nothing else runs.
pytestmark = pytest.mark.timeout(400)
#: What each run replays: everything before deployments, and the first of these. They stand on each other, so it can
#: only be what comes first; variants of deployments, actions, the programs and Heat's part come with --all.
REPLAYED = files() if EVERYTHING else [name for name in files() if name <= "20-deploy-success"]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Outcome]]]:
    """How each exchange went, by file. They stand on each other, so they are replayed once, in their order."""
    found: dict[str, list[Outcome]] = {name: [] for name in REPLAYED}
    site = Site(tmp_path_factory.mktemp("golden"))
    try:
        for outcome in Replay(site, [one for one in in_order() if one.file in found]).run():
            found[outcome.exchange.file].append(outcome)
    finally:
        status = site.end()
    assert status == 0, Path(site.service.errors).read_text()
    yield found


@pytest.mark.parametrize("name", REPLAYED)
def test_exchanges_go_as_recorded(outcomes: dict[str, list[Outcome]], name: str) -> None:
    assert len(outcomes[name]) == len(load(name))
    differing = [f"{one.exchange}: {'; '.join(one.differences)}" for one in outcomes[name] if one.differences]
    assert not differing, "\n".join(differing)


def test_each_deviation_names_exchanges_that_there_are() -> None:
    counts = {name: len(load(name)) for name in files()}
    for deviation in DEVIATIONS:
        assert ": " in deviation.why
        for case in deviation.cases:
            assert all(index < counts[name] for name, indexes in case.places.items() for index in indexes)


def test_the_page_lists_every_deviation() -> None:
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        page.PAGE.write_text(page.text())
    assert page.PAGE.read_text() == page.text(), "run this with VETRO_UPDATE_GOLDEN=1"
