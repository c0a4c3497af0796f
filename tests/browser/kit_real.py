"""A service whose cloud makes servers of this machine, for journeys on them."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.conftest import Running, running
from tests.support.servers import real_servers, traces
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean


@contextmanager
def running_on_servers(folder: Path, **settings: str) -> Iterator[Running]:
    """It runs in ``folder``, on the images of this machine unless ``settings`` name others. At the end nothing of its
    cloud is left, also where a journey ended early.
    """
    cloud = folder / "data" / "cloud"
    settings = settings or {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(real_servers().folder)}
    try:
        with running(folder, **settings) as made:
            yield made
    finally:
        collections.deque(clean(cloud), maxlen=0)
    assert not any(traces(cloud_id(cloud / "nspawn"), folder).values()), "cleaning left something behind"
