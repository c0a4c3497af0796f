"""Workspaces with real servers, as the acceptance tests have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.kit_nspawn import place as place
from tests.support.servers import images_in, warm_images


@pytest.fixture(autouse=True)
def _packages_lie_ready(request: pytest.FixtureRequest) -> Iterator[None]:
    """Campaigns load no package twice: those of all applications lie in one image, which is built once and kept."""
    if "place" not in request.fixturenames or request.node.get_closest_marker("campaign") is None:
        yield
        return
    request.getfixturevalue("place")
    with images_in(warm_images()):
        yield


__all__ = ["place"]
