"""Workspaces with real servers, as the acceptance tests have them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.test_nspawn_deploy import place as place
from tests.cli.deploykit import Place
from tests.support.servers import image_store, images_in
from vetro.clouds.images.build import build
from vetro.clouds.images.store import ImageStore

#: What the applications install: it lies ready in the image of `warm_place`.
READY = (
    *("mariadb-server", "mariadb-backup", "mariadb-client", "haproxy", "socat", "nginx"),
    *("php", "php-fpm", "php-mysql", "php-curl", "php-mbstring", "php-xml", "php-intl"),
    *("wordpress", "wordpress-theme-twentytwentythree", "wordpress-l10n"),
)


@pytest.fixture
def warm_place(place: Place) -> Iterator[Place]:
    """A workspace whose image has the applications' packages as files: servers install them without a mirror."""
    folder = Path(os.environ.get("VETRO_CATALOG_IMAGES") or image_store().folder.parent / "catalog-images")
    build(ImageStore(folder), ready=READY)
    with images_in(folder):
        yield place


__all__ = ["place", "warm_place"]
