"""A running service for tests of what comes in from the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.servekit import Service


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One process with few threads behind a trusted proxy. Files that use it name the group ``server/http: edge``."""
    with Service(
        tmp_path_factory.mktemp("edge"), "--workers", "0", VETRO_SERVER__PROCESSES="1", VETRO_SERVER__THREADS="4",
        VETRO_SERVER__STREAMS="2", VETRO_SERVER__TRUSTED_PROXIES="127.0.0.1",
    ) as found:  # fmt: skip
        yield found
