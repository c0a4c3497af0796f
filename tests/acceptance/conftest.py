"""One service for all tests with published clients, and who receives notices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.golden.people import Site
from tests.server.notices.receivers import WebReceiver


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running `vetro serve` with its people, which all tests of a session share: names are theirs to keep apart."""
    found = Site(tmp_path_factory.mktemp("service"))
    yield found
    found.end()


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    """A web server of this machine that notices are sent to."""
    found = WebReceiver()
    yield found
    found.close()
