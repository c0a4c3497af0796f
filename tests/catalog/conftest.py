"""Workspaces with real servers, as the acceptance tests have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.kit_nspawn import place as place
from tests.cli.deploykit import Place
from tests.support.servers import images_in, warm_images


@pytest.fixture
def warm_place(place: Place) -> Iterator[Place]:
    """A workspace whose image has the applications' packages as files: servers install them without a mirror."""
    with images_in(warm_images()):
        yield place


__all__ = ["place", "warm_place"]
