"""What many real servers on one machine share: user ids, and the kernel's watches of files."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.servers import network, real_servers, server, traces
from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.nspawn import id_ranges, inotify, kind
from vetro.clouds.nspawn.driver import NspawnDriver


def test_a_range_belongs_to_one_server_until_its_folder_is_gone(tmp_path: Path) -> None:
    folder, homes = tmp_path / "ids", [tmp_path / str(number) for number in range(3)]
    for home in homes:
        home.mkdir()
    first, second = (id_ranges.take(home, folder) for home in homes[:2])
    assert (first, second) == (id_ranges.BASE + id_ranges.RANGE, id_ranges.BASE + 2 * id_ranges.RANGE)
    assert id_ranges.take(homes[0], folder) == first
    homes[0].rmdir()
    assert id_ranges.take(homes[2], folder) == first
    assert id_ranges.take(homes[1], folder) == second


@pytest.mark.attack("quotas", "H4")
def test_each_server_has_ids_of_its_own_over_one_image(tmp_path: Path) -> None:
    driver = NspawnDriver(tmp_path, images=real_servers())
    image = driver._images.get("debian-12")
    if (lack := id_ranges.lacking(image.shifted, image.uid)) is not None:
        pytest.skip(lack)
    try:
        driver.ensure_network(network("10.3.4"))
        found = []
        for number in (1, 2):
            driver.create(server(number, "10.3.4"))
            leader = driver._server(f"server-{number}").leader()
            inside, outside, count = Path(f"/proc/{leader}/uid_map").read_text().split()
            assert (inside, count) == ("0", "65536")
            found.append(int(outside))
            script = "stat -c %u /usr/bin/sudo /etc/passwd; echo x >> /etc/passwd; su -s /bin/sh nobody -c true && "
            script += "su -s /bin/sh nobody -c 'ping -c 1 -W 2 10.3.4.1 >/dev/null' && echo pinged"  # a file capability
            assert driver.execute(f"server-{number}", ["sh", "-c", script]).stdout == b"0\n0\npinged\n"
        assert len({*found, image.uid}) == 3
    finally:
        driver.clear()
    assert not any((left := traces(driver.cloud, tmp_path)).values()), left


@pytest.mark.attack("quotas", "H4")
def test_a_server_that_would_hang_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = NspawnDriver(tmp_path, images=real_servers())
    try:
        driver.ensure_network(network("10.3.5"))
        monkeypatch.setattr(inotify, "left", lambda wanted: wanted - 1)
        with pytest.raises(HostFailed, match="no further server can boot beside 0: the watches of files") as caught:
            driver.create(server(1, "10.3.5"))
        assert "sysctl -w fs.inotify.max_user_instances=" in str(caught.value.hint)
        assert "/etc/sysctl.d/" in str(caught.value.hint)
        monkeypatch.undo()
        driver.create(server(1, "10.3.5"))  # nothing is in the way of the next push
        assert driver.statuses(["server-1"]) == {"server-1": "ACTIVE"}
    finally:
        driver.clear()
    assert not any((left := traces(driver.cloud, tmp_path)).values()), left


def test_what_is_left_is_counted_and_given_back() -> None:
    with contextlib.ExitStack() as rooms:
        assert inotify.left(3) == inotify.left(3) == 3
        rooms.enter_context(inotify.room(0))
    assert inotify.left(100_000) <= inotify.limit()  # others may hold some, or nobody
    assert inotify.servers_of(inotify.enough_for(30)) >= 30


@pytest.mark.parametrize(("limit", "ok"), [(128, False), (512, True)])
def test_the_doctor_says_how_many_servers_a_machine_is_good_for(
    limit: int, ok: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inotify, "limit", lambda: limit)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    remark = next(found for found in kind.KIND.examine_machine() if found.subject == "watches")
    assert (remark.level == "ok") is ok
    assert ok or "sysctl -w fs.inotify.max_user_instances=512" in str(remark.hint)


@pytest.mark.campaign
@pytest.mark.attack("quotas", "H4")
def test_thirty_servers_boot_after_the_doctors_advice(tmp_path: Path) -> None:
    before = inotify.SETTING.read_text()
    driver = NspawnDriver(tmp_path, images=real_servers(), boot_timeout=120)
    try:
        advice = inotify.remedy(kind.SERVERS).partition(";")[0]
        inotify.SETTING.write_text(str(max(int(before), int(advice.partition("=")[2]))))
        driver.ensure_network(network("10.3.6"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: driver.create(server(number, "10.3.6")), range(1, 31)))
        names = [f"server-{number}" for number in range(1, 31)]
        assert set(driver.statuses(names).values()) == {"ACTIVE"}
        for name in names:
            said = driver.execute(name, ["systemctl", "is-system-running", "--wait"], timeout=120).stdout
            assert said == b"running\n", name
    finally:
        driver.clear()
        inotify.SETTING.write_text(before)
    assert not any((left := traces(driver.cloud, tmp_path)).values()), left
