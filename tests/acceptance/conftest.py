"""One service for all tests with published clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.golden.people import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running `vetro serve` with its people, which all tests of a session share: names are theirs to keep apart."""
    found = Site(tmp_path_factory.mktemp("service"))
    yield found
    found.end()
