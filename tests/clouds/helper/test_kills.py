"""A cloud helper that is killed while it makes a server, and started again: the same request makes it whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cloud_helper import cloud_helper
from tests.support.servers import free_block, network, real_servers, server, traces
from vetro.clouds.helper.driver import HelperDriver
from vetro.clouds.images.store import ImageStore
from vetro.clouds.nspawn import links

pytestmark = pytest.mark.campaign
PATIENCE = 90.0
SETTINGS = 'plan_ipv4 = "10.192.0.0"\nmax_networks = 8192\n'


@pytest.fixture(scope="module")
def images() -> Iterator[ImageStore]:
    yield real_servers()


@pytest.mark.parametrize("after", [0.02, 0.15, 0.4, 0.8, 1.5])
def test_a_creation_that_was_cut_off_is_finished_by_the_same_request(
    images: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: float
) -> None:
    home, at, block = tmp_path / "helper", tmp_path / "socket", free_block()
    monkeypatch.setenv("VETRO_CLOUD_HELPER", str(at))
    driver = HelperDriver("nspawn", tmp_path / "cloud")
    spec = replace(server(1, block), queue=None)
    failed = list[Exception]()

    def create() -> None:
        try:
            driver.create(spec)
        except Exception as error:
            failed.append(error)

    asking = threading.Thread(target=create)
    try:
        with cloud_helper(home, at, images=images, settings=SETTINGS) as process:
            driver.ensure_network(network(block))
            asking.start()
            time.sleep(after)
            process.kill()
            process.wait()
        with cloud_helper(home, at, images=images, settings=SETTINGS):
            asking.join(PATIENCE)
            assert not asking.is_alive() and not failed, failed
            assert driver.statuses([spec.id]) == {spec.id: "ACTIVE"}
            driver.create(spec)
            folders = [path.name for path in (home / "nspawn" / "servers").iterdir()]
            assert folders == [spec.id], "once, and nothing of the first attempt beside it"
    finally:
        with cloud_helper(home, at, images=images, settings=SETTINGS):
            driver.clear()
    left = traces(links.cloud_id(home / "nspawn"), home / "nspawn" / "servers")
    assert not any(left.values()), left
