"""Real servers come back as they were: all their files, addresses, ids; how long they do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.needs import need
from tests.support.servers import OWNER, real_servers, traces
from vetro.agent.sockets import SocketChannel
from vetro.clouds.drivers.errors import GuestCommandFailed
from vetro.clouds.drivers.spec_files import load, save
from vetro.clouds.interface import StackChange
from vetro.clouds.kind_protocols import Place
from vetro.clouds.nspawn import disks as made
from vetro.clouds.nspawn import snapshots
from vetro.clouds.nspawn.kind import KIND
from vetro.clouds.nspawn.links import cloud_id
from vetro.library.stackdata import difference, digest_of, parts_of

#: Counts visitors in a file, at every start.
WEB = """\
#!/bin/sh
mkdir -p /srv/www
cat > /etc/systemd/system/www.service <<'END'
[Service]
ExecStart=/usr/bin/python3 -m http.server 8080 --directory /srv/www
[Install]
WantedBy=multi-user.target
END
systemctl enable --now www
echo > /root/done
"""
#: Names, kinds, owners, modes, contents of all files of a server that do not change by themselves.
SUMS = (
    "cd / && find etc opt root srv usr var/lib -xdev ! -path 'var/lib/systemd/*' ! -name .updated "
    "! -path 'etc/resolv.conf' -printf '%p %y %U:%G %m %l\\n' | sort; "
    "find opt srv etc -xdev -type f | sort | xargs sha256sum"
)


#: How disks are kept, by what they are.
METHODS = {"ext4": "layer", "btrfs": "subvolume"}


#: What the disks of a test's servers are.
LAYERS = pytest.mark.parametrize("disks", ["ext4"], indirect=True)
BOTH = pytest.mark.parametrize("disks", ["ext4", pytest.param("btrfs", marks=pytest.mark.campaign)], indirect=True)
BTRFS = pytest.mark.parametrize("disks", ["btrfs"], indirect=True)


@pytest.fixture(scope="module")
def disks(request: pytest.FixtureRequest) -> Iterator[str]:
    """What the disks of new servers are."""
    kind = str(request.param)
    if kind == "btrfs":
        need(made.no_btrfs())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "type_of_new", lambda: kind)
        yield kind


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, disks: str) -> Iterator[Any]:
    folder, images = tmp_path_factory.mktemp("cloud"), real_servers()
    place = Place(directory=folder, images=images, channels=partial(SocketChannel, folder))
    made: Any = KIND.open(KIND.settings.from_json({}), place)
    id = cloud_id(folder / "nspawn")
    try:
        yield made
    finally:
        made.driver.clear()
        made.close()
    assert not any(traces(id, folder).values()), "cleaning left something behind"


def push(cloud: Any, **servers: str) -> None:
    properties = {"image": "debian-12-murano", "flavor": "m1.small", "user_data_format": "RAW"}
    resources = {
        name: {"type": "OS::Nova::Server", "properties": {**properties, "name": name, "user_data": data}}
        for name, data in servers.items()
    }
    parts = parts_of({"heat_template_version": "2013-05-23", "resources": resources})
    cloud.push_stack(OWNER, "", "stack", StackChange(digest_of(parts), None, *difference({}, parts)))


def sh(cloud: Any, id: str, script: str) -> str:
    done = cloud.driver.execute(id, ["sh", "-ec", script], timeout=120)
    assert done.code == 0, done.stderr
    return str(done.stdout.decode())


def await_done(cloud: Any, id: str) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            sh(cloud, id, "test -e /root/done && systemctl is-active www")
            return
        except (AssertionError, GuestCommandFailed):
            assert time.monotonic() < end, cloud.driver.console(id)
            time.sleep(0.1)


@BOTH
def test_an_update_of_real_servers_is_taken_back(cloud: Any, disks: str) -> None:
    push(cloud, web=WEB, db=WEB)
    servers = {one.name: one for one in cloud.servers(OWNER)}
    web, db = servers["web"].id, servers["db"].id
    for id in (web, db):
        await_done(cloud, id)
        sh(cloud, id, "mkdir /opt/many; cd /opt/many; seq 2000 | xargs touch; echo visitors-7 > /srv/www/count; "
                      "ln /srv/www/count /srv/www/same; chown 1234:99 /opt/many/7")  # fmt: skip
    before = {id: sh(cloud, id, SUMS) for id in (web, db)}
    held = {one.id: one for one in cloud.snapshot(OWNER, "s1")}
    print("standstill", {one.name: one.standstill for one in held.values()})
    assert {one.method for one in held.values()} == {METHODS[disks]} and all(
        one.standstill > 0 for one in held.values()
    )
    for id in (web, db):
        await_done(cloud, id)
        assert sh(cloud, id, SUMS) == before[id], "it goes on with the same files"
    sh(cloud, db, "rm -r /opt/many /etc/motd; echo visitors-0 > /srv/www/count; systemctl disable www; useradd eve; "
                  "head -c 50000000 /dev/zero > /srv/large; mv /srv/www /srv/moved")  # fmt: skip
    push(cloud, web="#!/bin/sh\necho > /root/another\n", db=WEB, new="")
    assert {one.name for one in cloud.servers(OWNER)} == {"web", "db", "new"}
    began = time.monotonic()
    cloud.restore(OWNER, "s1")
    print("restore of two servers", round(time.monotonic() - began, 2))
    assert {one.name: one for one in cloud.servers(OWNER)} == servers, "ids, addresses, states"
    for id in (web, db):
        await_done(cloud, id)
        assert sh(cloud, id, SUMS) == before[id]
        address = next(one.addresses[0] for one in servers.values() if one.id == id)
        assert f" {address}/" in sh(cloud, id, "ip -4 -brief address show eth0")
    cloud.drop(OWNER, "s1")


@pytest.mark.campaign
@BOTH
def test_a_server_may_be_stopped_before(cloud: Any, disks: str) -> None:
    """What its programs write when they end is in the snapshot; it runs again afterwards."""
    push(cloud, still=WEB)
    still = next(one.id for one in cloud.servers(OWNER) if one.name == "still")
    await_done(cloud, still)
    unit = "[Service]\\nExecStart=/bin/sleep infinity\\nExecStop=/bin/sh -c 'echo ended > /srv/ended; sync'\\n"
    sh(cloud, still, f'printf "{unit}" > /etc/systemd/system/last.service; systemctl start last')
    held = {one.id: one for one in cloud.snapshot(OWNER, "still", True)}
    print("standstill", held[still].standstill)
    assert held[still].standstill > 0.1
    await_done(cloud, still)
    sh(cloud, still, "rm /srv/ended")
    cloud.restore(OWNER, "still")
    await_done(cloud, still)
    assert sh(cloud, still, "cat /srv/ended") == "ended\n"
    cloud.drop(OWNER, "still")
    push(cloud)


@pytest.mark.campaign  # merging itself is tried beside it; this is that servers run on what was merged
@LAYERS
def test_many_snapshots_are_merged(cloud: Any) -> None:
    push(cloud, db=WEB)
    db = next(one.id for one in cloud.servers(OWNER) if one.name == "db")
    await_done(cloud, db)
    sh(cloud, db, "mkdir -p /opt/many; cd /opt/many; seq 2000 | xargs touch")
    server, before = cloud.driver._known(db), ""
    for number in range(snapshots.MERGED_FROM):
        cloud.snapshot(OWNER, f"n{number}")
        sh(
            cloud,
            db,
            f"echo {number} > /opt/number; rm -f /opt/many/{number}; mkdir -p /opt/deep; echo > /opt/deep/{number}",
        )
        cloud.drop(OWNER, f"n{number}")
    before = sh(cloud, db, SUMS)
    cloud.snapshot(OWNER, "last")
    assert sh(cloud, db, SUMS) == before
    layers = load(server.folder / "layers.json")["layers"]
    assert len(layers) < snapshots.MERGED_FROM and "upper.1" not in layers, layers
    sh(cloud, db, "rm -r /opt/many")
    cloud.restore(OWNER, "last")
    assert sh(cloud, db, SUMS) == before
    cloud.drop(OWNER, "last")


@pytest.mark.parametrize("disks", ["ext4", pytest.param("btrfs", marks=pytest.mark.campaign)], indirect=True)
def test_what_was_filled_is_room_again(cloud: Any, disks: str) -> None:
    """What an undone update has filled is room again."""
    push(cloud, small="")
    (server,) = cloud.servers(OWNER)
    cloud.snapshot(OWNER, "s1")
    before = room(cloud, server.id)
    sh(cloud, server.id, "head -c 300000000 /dev/urandom > /srv/full")
    full = room(cloud, server.id)
    assert full < before - 200_000
    cloud.restore(OWNER, "s1")
    end = time.monotonic() + (600 if disks == "btrfs" else 0)  # there it is removed beside what goes on
    while (now := room(cloud, server.id)) <= full + 200_000:
        assert time.monotonic() < end, (before, full, now)
        time.sleep(0.2)
    cloud.drop(OWNER, "s1")


@BTRFS
def test_a_snapshot_takes_what_is_written_later(cloud: Any) -> None:
    """And no more: of a file that is changed only the blocks that are written."""
    push(cloud, small="")
    (found,) = cloud.servers(OWNER)
    sh(cloud, found.id, "head -c 100000000 /dev/urandom > /srv/large")
    before = room(cloud, found.id)
    cloud.snapshot(OWNER, "s1")
    write = "head -c 1000000 /dev/urandom | dd of=/srv/large bs=1000 seek=5000 conv=notrunc status=none"
    sh(cloud, found.id, f"{write}; head -c 5000000 /dev/urandom > /srv/new")
    used = before - room(cloud, found.id)
    print("space", used, "KiB of 5,860 written")
    assert used < 12_000, "KiB; with layers it would be all of the large file"
    cloud.drop(OWNER, "s1")


def room(cloud: Any, id: str) -> int:
    """KiB that are left on the disk of a server. What btrfs has yet to write takes none, as it tells it."""
    return int(sh(cloud, id, "sync -f /; df --output=avail / | tail -1"))


@BTRFS
@pytest.mark.attack("processes", "what a guest may ask of the file system of its disk")
def test_a_server_gets_at_no_subvolume(cloud: Any) -> None:
    """The overlay is between: it passes none of the requests of btrfs on. Nothing that is mounted lets in devices."""
    push(cloud, small="")
    (found,) = cloud.servers(OWNER)
    cloud.snapshot(OWNER, "s1")
    script = """
import errno, fcntl, os, struct
for number in (0x5000940E, 0x5000940F, 0x50009417, 0x9408, 0xD0009411, 0xC4009420, 0x8400941F):
    for path in ("/", "/srv"):
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, number, bytearray(struct.pack("q", 0) + b"evil".ljust(4088, b"\\0")))
            print("done", hex(number), path)
        except OSError as error:
            if error.errno not in (errno.ENOTTY, errno.EPERM):
                print(hex(number), path, error)
"""
    assert sh(cloud, found.id, f"python3 -c '{script}'") == ""
    refused = "mkdir /mnt/x; ! mount -t btrfs /dev/loop0 /mnt/x 2>&1; ! ls /live.1 /kept.2 2>&1; ls -A /mnt/x"
    assert "kept" not in sh(cloud, found.id, refused).replace("No such file", "").replace("'/kept.2'", "")
    keeper = load(cloud.driver._known(found.id).folder / "running.json")["keeper"][0]
    (line,) = [one for one in Path(f"/proc/{keeper}/mounts").read_text().splitlines() if " btrfs " in one]
    assert {"nosuid", "nodev", "thread_pool=1"} <= set(line.split()[3].split(","))
    cloud.drop(OWNER, "s1")


@pytest.mark.campaign
@BTRFS
def test_a_full_disk_comes_back(cloud: Any) -> None:
    push(cloud, small="")
    (found,) = cloud.servers(OWNER)
    there = sh(cloud, found.id, "echo before > /srv/kept; sync; ls /srv")
    cloud.snapshot(OWNER, "s1")
    most = "$(($(df -B1 --output=avail / | tail -1) * 98 / 100))"
    small = "for n in $(seq 5000); do head -c 10000 /dev/zero > /srv/f$n || break; done"
    sh(cloud, found.id, f"(fallocate -l {most} /srv/full; {small}; echo after > /srv/kept) 2>/dev/null || true")
    assert int(sh(cloud, found.id, "df --output=avail / | tail -1")) < 500_000, "it is nearly full"
    cloud.restore(OWNER, "s1")
    said = sh(cloud, found.id, "cat /srv/kept; ls /srv; echo more > /srv/more; cat /srv/more")
    assert said == f"before\n{there}more\n"
    cloud.drop(OWNER, "s1")


@pytest.mark.campaign
@BTRFS
def test_a_server_that_was_left_standing_goes_on(cloud: Any) -> None:
    """Who dies in the middle of a snapshot leaves a server that stands still: the same call, or its end, mends it."""
    push(cloud, small="")
    (found,) = cloud.servers(OWNER)
    known = cloud.driver._known(found.id)
    cloud.driver.take_snapshot(found.id, "s1")
    for mend in (lambda: cloud.driver.take_snapshot(found.id, "s1"), lambda: cloud.driver.stop(found.id)):
        states = [path / name for path in known.cgroup.folders() for name in ("freezer.state", "cgroup.freeze")]
        (state, *_) = [path for path in states if path.exists()]
        state.write_text("FROZEN" if state.name == "freezer.state" else "1")
        mend()
        assert not state.exists() or state.read_text().strip() in ("THAWED", "0")
    cloud.driver.start(found.id)
    sh(cloud, found.id, "true")
    cloud.driver.drop_snapshot(found.id, "s1")


@LAYERS
def test_a_disk_of_an_earlier_version_goes_on(cloud: Any) -> None:
    push(cloud, old="")
    (server,) = cloud.servers(OWNER)
    sh(cloud, server.id, "echo kept > /srv/kept")
    folder = cloud.driver._known(server.id).folder
    cloud.power(OWNER, server.id, "stop")
    launch = load(folder / "launch.json")
    assert not {"uppers", "snapshots", "merge"} & launch.keys(), "a disk has one layer until its first snapshot"
    launch.pop("image_uid")
    save(folder / "launch.json", {**launch, "image_uid": launch["uid"]})
    (folder / "layers.json").unlink()
    cloud.power(OWNER, server.id, "start")
    assert sh(cloud, server.id, "cat /srv/kept") == "kept\n"
