"""Data volumes of servers in systemd-nspawn: they outlive their servers, keep their limit, and have one writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.servers import free_block, network, real_servers, server, traces
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.drivers.specs import ServerSpec, VolumeSpec
from vetro.clouds.nspawn.driver import NspawnDriver

DATA = VolumeSpec("volume-1", "data", 1, device="/dev/vdb")
AT = "/run/vetro-volumes/vdb"


class Place:
    def __init__(self, folder: Path) -> None:
        self.images = real_servers()
        self.driver = NspawnDriver(folder, images=self.images)
        self.block = free_block()
        self.driver.ensure_network(network(self.block))

    def spec(self, number: int, *volumes: VolumeSpec) -> ServerSpec:
        return server(number, self.block, volumes=volumes)

    def sh(self, number: int, script: str) -> str:
        done = self.driver.execute(f"server-{number}", ["sh", "-c", f"exec 2>&1; {script}"], timeout=60)
        return f"{done.stdout.decode().strip()}[{done.code}]"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.driver.clear()
    assert not any(traces(place.driver.cloud, tmp_path).values())


@pytest.mark.campaign
@pytest.mark.timeout(400)
def test_a_volume_outlives_its_server_and_goes_to_another(place: Place) -> None:
    driver = place.driver
    driver.ensure_volume(DATA)
    driver.create(place.spec(1, DATA))
    place.sh(1, f"mkdir -p /srv/data && mount --bind {AT} /srv/data")
    assert place.sh(1, "echo kept > /srv/data/file && chown 1000:1000 /srv/data/file") == "[0]"
    # One writer: another server does not get it, and stays as it is.
    driver.create(place.spec(2))
    with pytest.raises(DriverError, match="still in use by another server"):
        driver.update(place.spec(2, DATA))
    assert place.sh(2, f"ls {AT}") == "[0]"
    driver.stop("server-2")
    driver.start("server-2")
    # It is there again after a stop, a crash and a start, and with the owners that it had.
    driver.stop("server-1")
    driver.start("server-1")
    assert place.sh(1, f"cat {AT}/file; stat -c %u {AT}/file; stat -c %u {AT}") == "kept\n1000\n0[0]"
    driver.delete("server-1")
    driver.update(place.spec(2, DATA))
    driver.update(place.spec(2, DATA))
    assert place.sh(2, f"cat {AT}/file; stat -c %u {AT}/file") == "kept\n1000[0]"
    # Its own limit, not that of the server's disk (2 GiB).
    assert "No space left" in place.sh(2, f"dd if=/dev/zero of={AT}/fill bs=1M count=1500; rm {AT}/fill")
    # Larger from the next start on, with what was on it.
    driver.ensure_volume(replace(DATA, size_gib=3))
    driver.stop("server-2")
    driver.start("server-2")
    assert place.sh(2, f"test $(stat -f -c %b {AT}) -gt 600000 && cat {AT}/file") == "kept[0]"
    # Taken away from a server that runs: it is started again without it.
    driver.update(place.spec(2))
    assert place.sh(2, f"ls {AT}; ls /srv; hostname") == f"ls: cannot access '{AT}': No such file or directory\nweb2[0]"
    # A copy of a volume is a volume of its own.
    copy = VolumeSpec("volume-2", "copy", 3, source=DATA.id, device="/dev/vdc")
    driver.ensure_volume(copy)
    driver.update(place.spec(2, DATA, copy))
    assert place.sh(2, "echo new > /run/vetro-volumes/vdc/file; cat /run/vetro-volumes/vd?/file") == "kept\nnew[0]"
    driver.delete("server-2")
    driver.delete_volume(DATA.id)
    driver.delete_volume(copy.id)
    assert driver.count("volumes") == 0


@pytest.mark.campaign
def test_volumes_that_a_server_cannot_have(place: Place) -> None:
    for volumes, why in (
        ((DATA,), "there is no volume 'data'"),
        ((VolumeSpec("v", "v", 1, source="image-1"),), "can have copies of volumes only"),
        ((VolumeSpec("v", "v", 1), VolumeSpec("w", "w", 1)), "two volumes of 'web5' are to be its device vdb"),
    ):
        for volume in volumes:
            if volume != DATA:
                place.driver.ensure_volume(replace(volume, source=None))
        with pytest.raises(DriverError, match=why):
            place.driver.create(place.spec(5, *volumes))
    assert place.driver.statuses(["server-5"]) == {}
    for id in ("v", "w"):
        place.driver.delete_volume(id)
