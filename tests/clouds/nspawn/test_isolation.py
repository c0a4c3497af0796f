"""What separates real servers from this machine and from each other, and what happens when one is cut off."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import call_filters
from tests.support.needs import need, needs
from tests.support.servers import OWNER, free_block, network, real_servers, server, traces
from vetro.clouds.drivers.errors import DriverError, GuestCommandFailed, ServerBootFailed
from vetro.clouds.drivers.processes import process
from vetro.clouds.drivers.spec_files import digest, load, save
from vetro.clouds.drivers.specs import GroupSpec, NicSpec, SecurityRule
from vetro.clouds.guest import entrance
from vetro.clouds.images.sources import apt_sources
from vetro.clouds.nspawn.driver import NspawnDriver

pytestmark = pytest.mark.attack("processes", "walls of guests")


class Place:
    """web1 and web2 on one network, web3 on a second one with the same router, web4 on an island."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.images = real_servers()
        self.driver = NspawnDriver(folder, images=self.images)
        one = free_block()
        two = free_block((one,))
        three = free_block((one, two))
        self.blocks = [one, one, two, three]
        self.driver.ensure_network(network(one, "net"))
        self.driver.ensure_network(network(two, "other"))
        self.driver.ensure_network(network(three, "island", router=None, uplink=False))
        web = [SecurityRule(protocol="tcp", port_min=80, port_max=81)]
        self.driver.ensure_group(GroupSpec("web", "web", web, OWNER.project))
        tight = [
            SecurityRule(protocol="tcp", port_min=80),
            SecurityRule(direction="egress", remote_ip_prefix=f"{one}.0/24"),
        ]
        self.driver.ensure_group(GroupSpec("tight", "tight", tight, OWNER.project))
        for number, net in ((1, "net"), (2, "net"), (3, "other"), (4, "island")):
            spec = server(number, self.blocks[number - 1], net, queue=f"ee1f2-h{number}")
            groups = ("tight",) if number == 3 else ("web",)
            nics = tuple(NicSpec(**{**_fields(nic), "groups": groups}) for nic in spec.nics)
            self.driver.create(server(number, self.blocks[number - 1], net, queue=f"ee1f2-h{number}", nics=nics))
            self.sh(number, "for p in 80 81 82; do systemd-run -q python3 -m http.server $p -d /usr/share/doc; done")

    def address(self, number: int) -> str:
        return f"{self.blocks[number - 1]}.{number + 10}"

    def sh(self, number: int, script: str, timeout: float = 60) -> str:
        """Output of a script in a server; both streams."""
        done = self.driver.execute(f"server-{number}", ["sh", "-c", f"exec 2>&1; {script}"], timeout=timeout)
        return f"{done.stdout.decode(errors='replace')}[{done.code}]"

    def reaches(self, number: int, address: str, port: int, seconds: int = 10) -> bool:
        """Whether a server can connect to an address; what is dropped takes all ``seconds``."""
        return self.sh(number, f"timeout {seconds} bash -c 'echo > /dev/tcp/{address}/{port}'").endswith("[0]")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    found = Place(tmp_path_factory.mktemp("walls"))
    try:
        end = time.monotonic() + 60
        while not all(found.reaches(n, "127.0.0.1", port) for n in (1, 2, 3, 4) for port in (80, 81, 82)):
            assert time.monotonic() < end
        yield found
    finally:
        found.driver.clear()
        left = traces(found.driver.cloud, found.folder)
    assert not any(left.values()), left


# -- network -----------------------------------------------------------------------------------------------------------


def test_this_machine_reaches_every_server(place: Place) -> None:
    for number in (1, 2, 3, 4):
        for port in (80, 82):
            socket.create_connection((place.address(number), port), 5).close()


def test_no_server_reaches_this_machine(place: Place) -> None:
    outside = [line.split()[3].split("/")[0] for line in _said("ip", "-4", "-o", "addr") if " lo " not in line]
    with socket.create_server(("0.0.0.0", 0)) as here:
        port = here.getsockname()[1]
        for number in (1, 4):
            for address in [*outside[:3], f"{place.blocks[number - 1]}.1"]:
                assert not place.reaches(number, address, port, 1), (number, address)


def test_servers_on_one_network_reach_each_other(place: Place) -> None:
    assert place.reaches(2, place.address(1), 82)


def test_groups_decide_between_networks_of_one_router(place: Place) -> None:
    ways = {
        (1, 3, 80): True,  # group tight lets 80 in
        (1, 3, 81): False,
        (3, 1, 80): True,  # group web lets 80 and 81 in, tight lets out to that network
        (3, 1, 82): False,
        (4, 1, 80): False,  # an island has no router
        (1, 4, 80): False,
    }
    found = {
        (a, b, port): place.reaches(a, place.address(b), port, 10 if open else 1) for (a, b, port), open in ways.items()
    }
    assert found == ways


def test_rules_for_outgoing_traffic_and_islands_keep_servers_in(place: Place) -> None:
    host = re.search(r"^URIs: https?://([^/\s]+)", apt_sources("bookworm"), re.MULTILINE)
    assert host is not None
    look = f"getent ahostsv4 {host[1]} | head -1"
    address = place.sh(1, look).split()[0]
    assert place.reaches(1, address, 80)
    assert not place.reaches(3, address, 80, 1)
    assert not place.reaches(4, address, 80, 1)
    assert place.sh(4, look) == "[0]"  # an island has no name service, and finds that out at once


@pytest.mark.campaign
def test_changed_rules_hold_at_once(place: Place) -> None:
    place.driver.ensure_group(GroupSpec("tight", "tight", [SecurityRule(remote_group="web")], OWNER.project))
    assert place.reaches(1, place.address(3), 81)
    place.driver.ensure_group(GroupSpec("tight", "tight", [SecurityRule(protocol="icmp")], OWNER.project))
    assert not place.reaches(1, place.address(3), 80, 1)


def test_a_server_cannot_take_the_address_of_another(place: Place) -> None:
    script = (
        f"ip addr add {place.blocks[0]}.99/24 dev eth0; "
        f"timeout 1 bash -c 'echo > /dev/tcp/{place.address(1)}/82' && echo plain; "
        'python3 -c "import socket as s; c=s.socket(); c.settimeout(1); '
        f"c.bind(('{place.blocks[0]}.99', 0)); c.connect(('{place.address(1)}', 82)); print('forged')\"; "
        f"ip addr del {place.blocks[0]}.99/24 dev eth0"
    )
    said = place.sh(2, script)
    assert "plain" in said and "forged" not in said, said


@pytest.mark.campaign
@pytest.mark.attack("networks", "resources of the kernel")
def test_a_bridge_keeps_no_addresses_that_guests_invent(place: Place) -> None:
    """Without port security a guest may send from any hardware address, as many as it likes."""
    name = place.driver._networks.namespace(OWNER.project)
    forged = (
        "import os, socket\n"
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('eth0', 0))\n"
        "for _ in range(2000): s.send(b'\\xff' * 6 + b'\\x02' + os.urandom(5) + b'\\x88\\xb5' + bytes(46))\n"
    )
    (nic,) = server(1, place.blocks[0]).nics
    before = place.driver._server("server-1").spec()
    assert before is not None
    place.driver.update(replace(before, nics=(replace(before.nics[0], security=False),)))
    try:
        assert place.sh(1, f'python3 -c "{forged}"') == "[0]"
        known = subprocess.run(["bridge", "-n", name, "fdb"], capture_output=True, text=True, check=True).stdout
        assert str(nic.mac) in known and len(known.splitlines()) < 60, known
        assert place.reaches(2, place.address(1), 80)
    finally:
        place.driver.update(before)


def test_credentials_of_this_machine_cannot_be_fetched(place: Place) -> None:
    assert not place.reaches(1, "169.254.169.254", 80, 1)


# -- commands ----------------------------------------------------------------------------------------------------------

#: Numbers of i386 that no kernel of today has a call for.
_NO_CALLS = {17, 31, 32, 35, 44, 53, 56, 58, 98, 112, 127, 130, 134, 137, 149, 167, 169, 188, 189, 222, 223, 251, 273,
             285, *range(387, 393), 415}  # fmt: skip


@needs(platform.machine() == "x86_64", "the numbers of x86_64")
def test_a_command_may_call_what_the_servers_own_processes_may_and_no_more(place: Place) -> None:
    """Compared by the filters themselves: nspawn's, of the server's first process, and that of commands."""
    leader = place.driver._server("server-1").leader()
    assert leader is not None
    try:
        own = call_filters.filters_of(leader)
    except PermissionError:
        need("only somebody without filters may read filters")
    ours = [call_filters.read(entrance.call_filter("x86_64"))]
    assert own
    wrong = []
    for (convention, _), numbers in zip(entrance.MACHINES["x86_64"], (range(600), range(600)), strict=True):
        for number in numbers:
            theirs = call_filters.answer(own, convention, number) == call_filters.ALLOWED
            allowed = call_filters.answer(ours, convention, number) == call_filters.ALLOWED
            if theirs and not allowed:
                wrong.append(f"{number} of {convention:x} is refused")
            if allowed and not theirs and not _missing(convention, number):
                wrong.append(f"{number} of {convention:x} is allowed")
    assert wrong == []
    for family, protocol in ((16, 9), (16, 0), (2, 0)):
        asked = (0xC000003E, 41, family, 3, protocol)
        assert call_filters.answer(own, *asked) == call_filters.answer(ours, *asked)


def _missing(convention: int, number: int) -> bool:
    """Whether the kernel has no such call."""
    if convention != 0xC000003E:
        return number in _NO_CALLS
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.syscall(number, -1, -1, -1, -1, -1, -1) == -1 and ctypes.get_errno() == errno.ENOSYS)


def test_what_is_refused_to_a_command_is_refused_to_the_servers_own_processes(place: Place) -> None:
    numbers = [entrance.REFUSED[name][0] for name in ("add_key", "keyctl", "init_module", "kexec_load", "bpf")]
    numbers.append(entrance.REFUSED["perf_event_open"][0])
    script = "".join(f"$! = 0; syscall({number}, 0, 0, 0, 0, 0); print $! + 0, qq( );" for number in numbers)
    place.sh(1, f"cat > /root/tries.pl <<'EOF'\n{script}\nEOF")
    answers = "1 " * len(numbers) + "[0]"
    assert place.sh(1, "perl /root/tries.pl") == answers
    assert place.sh(1, "systemd-run --quiet --wait --pipe perl /root/tries.pl") == answers


@pytest.mark.campaign
def test_a_command_does_ordinary_work(place: Place) -> None:
    """Packages are made and installed, archives packed, programs in several languages run, other users become."""
    script = """set -e; cd /root; mkdir -p p/DEBIAN p/usr/share/p x
printf 'Package: walls\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: d\\n' > p/DEBIAN/control
printf '#!/bin/sh\\nadduser --quiet --system --group walls\\n' > p/DEBIAN/postinst; chmod 755 p/DEBIAN/postinst
date > p/usr/share/p/now; dpkg-deb --build --root-owner-group p walls.deb
apt-get -q install -y ./walls.deb; su -s /bin/sh walls -c id
tar -czf x.tgz -C / usr/share/p; tar -xzf x.tgz -C x; cmp x/usr/share/p/now p/usr/share/p/now
python3 -c 'import subprocess, threading, socket, multiprocessing; multiprocessing.Pool(2).map(abs, [1]); print("py")'
mount -t tmpfs none /mnt; umount /mnt; unshare --user --map-root-user true; systemctl is-system-running --wait || true
ip link show; ping -c 1 -W 1 127.0.0.1 || true; apt-get -q purge -y walls"""
    said = place.sh(1, script, 120)
    assert said.endswith("[0]") and "(walls)" in said and "\npy\n" in said, said


# -- the guest's root against this machine -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attack",
    [
        "mknod /root/disk b 8 0",
        "mknod /dev/mem2 c 1 1",
        "sysctl -w kernel.panic=7",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "mount -o remount,rw /proc/sys; echo 7 > /proc/sys/kernel/panic",
        "mount -o remount,rw /run/vetro-guest && echo x > /run/vetro-guest/boot.py",
        "echo x > /run/vetro-guest/boot.py",
        "echo x > /run/vetro/planted",
        "modprobe loop",
        "mount /dev/loop0 /mnt",
        "losetup -f /etc/passwd",
        "dd if=/dev/vda of=/dev/null count=1",
        "chown 0:0 /proc/1/root/run/vetro-guest/server.json",
        "date -s 2001-01-01",
        "nsenter -t 1 -m -u -i -n -p -- sh -c 'cat /proc/1/comm | grep -v systemd'",
        "ip link set eth0 netns 2147483647",
        "echo 99999999999 > /sys/fs/cgroup/memory/memory.limit_in_bytes",
        "echo max > /sys/fs/cgroup/memory.max",
    ],
)
def test_attacks_of_the_guests_root_are_refused(place: Place, attack: str) -> None:
    before = Path("/proc/sys/kernel/panic").read_text(), Path("/proc/sys/kernel/core_pattern").read_text()
    assert not place.sh(1, attack).endswith("[0]")
    assert before == (Path("/proc/sys/kernel/panic").read_text(), Path("/proc/sys/kernel/core_pattern").read_text())


def test_other_servers_and_this_machine_cannot_be_seen(place: Place) -> None:
    found = place.sh(
        1,
        "find / -xdev -name 'agent.sock' -o -name 'server.json' -path '*server-2*'; "
        f"ls -d {place.folder} {place.images.folder}; cat /proc/*/cmdline | tr '\\0' ' ' | grep -c [n]spawn; "
        "grep -c server-2 /run/vetro-guest/server.json; ls /run/vetro-guest; ls /sys/class/net",
    )
    assert "server-2" not in found and "vx" not in found
    assert f"cannot access '{place.folder}'" in found
    numbers = [line for line in found.splitlines() if line.isdigit()]
    assert numbers == ["0", "0"], found


def test_a_socket_folder_belongs_to_one_server(place: Place) -> None:
    folders = sorted((place.folder / "nspawn" / "sockets").iterdir())
    assert len(folders) == 4
    for folder in folders:
        (folder / folder.name).touch()
    seen = {place.sh(number, "ls /run/vetro") for number in (1, 2, 3, 4)}
    assert seen == {f"{folder.name}\n[0]" for folder in folders}
    assert place.sh(1, "su -s /bin/sh nobody -c 'ls /run/vetro /run/vetro-guest'").count("Permission denied") == 2


def test_guests_processes_are_nobody_here(place: Place) -> None:
    leader = place.driver._server("server-1").leader()
    assert leader is not None
    assert os.stat(f"/proc/{leader}").st_uid >= 0x6F00_0000
    assert Path(f"/proc/{leader}/cgroup").read_text().count(f"vetro-{place.driver.cloud}") >= 1


@pytest.mark.campaign
def test_a_flood_on_the_console_is_bounded(place: Place) -> None:
    place.sh(2, "timeout 3 sh -c 'yes 0123456789012345678901234567890123456789 > /dev/console'; true")
    folder = place.folder / "nspawn" / "servers" / "server-2"

    def calm() -> bool:
        before = _size(folder)
        time.sleep(0.2)
        return before == _size(folder)

    _until(calm)  # what is on its way comes, too
    assert 0 < _size(folder) <= 5 << 20
    assert len(place.driver.console("server-2", 10).splitlines()) == 10


def test_a_fork_bomb_hurts_its_own_server_only(place: Place) -> None:
    block = place.blocks[1]
    place.driver.create(server(7, block))
    bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n"
    place.driver.put_file("server-7", "/root/bomb.py", bomb.encode())
    place.sh(7, "systemd-run -q python3 /root/bomb.py")
    group = place.driver._server("server-7").cgroup
    most = 0

    def grown() -> bool:
        nonlocal most
        most = max(most, len(group.pids()))
        return most > 500

    _until(grown, 240, lambda: f"{most} processes; {place.sh(7, 'systemctl list-units --failed run-*')}")
    assert place.sh(1, "echo fine") == "fine\n[0]"
    assert len(group.pids()) <= 2048
    place.driver.delete("server-7")
    assert not group.exists()


# -- cut off -----------------------------------------------------------------------------------------------------------


@pytest.mark.campaign
def test_a_full_disk_is_the_guests_own(place: Place) -> None:
    said = place.sh(1, "dd if=/dev/zero of=/root/big bs=1M count=4000")
    assert "No space left on device" in said
    with pytest.raises(GuestCommandFailed, match="No space left on device"):
        place.driver.put_file("server-1", "/root/more", b"x" * 4_000_000)
    assert place.sh(1, "rm /root/big; test ! -e /root/more.vetro-new && echo room") == "room\n[0]"
    place.driver.put_file("server-1", "/root/more", b"x")


def test_a_killed_guest_is_an_error_with_a_reason_and_starts_again(place: Place) -> None:
    place.sh(1, "echo kept > /root/kept; sync")
    leader = place.driver._server("server-1").leader()
    assert leader is not None
    first = process(leader)
    assert first is not None and first.kill() and first.wait(10)
    _until(lambda: place.driver.statuses(["server-1"])["server-1"] == "ERROR")
    with pytest.raises(GuestCommandFailed, match=r"the server '[^']+' does not run: it (ended with status|was killed)"):
        place.driver.execute("server-1", ["true"])
    place.driver.create(server(1, place.blocks[0]))
    assert place.sh(1, "cat /root/kept") == "kept\n[0]"


@pytest.mark.campaign
def test_a_killed_keeper_leaves_something_that_the_next_start_removes(place: Place) -> None:
    folder = place.folder / "nspawn" / "servers" / "server-2"
    os.kill(load(folder / "running.json")["keeper"][0], signal.SIGKILL)
    _until(lambda: place.driver.statuses(["server-2"])["server-2"] == "ERROR")
    done = place.driver.sweep(["server-1", "server-2", "server-3", "server-4"], ["net", "other", "island"])
    assert done == ["processes of the dead server server-2"]
    place.driver.start("server-2")
    assert place.sh(2, "hostname") == "web2\n[0]"


@pytest.mark.campaign
@pytest.mark.attack("data", "M4")
def test_a_server_that_an_earlier_version_ran_is_powered_off_and_moved(place: Place) -> None:
    servers, networks = ["server-1", "server-2", "server-3", "server-4"], ["net", "other", "island"]
    launch = place.folder / "nspawn" / "servers" / "server-2" / "launch.json"
    facts = load(launch)
    for nic in facts["nics"]:
        del nic["namespace"]  # as those had it
    save(launch, facts)
    off = "echo off > /root/off"
    place.sh(2, f"systemd-run -q --unit last -p ExecStop=\"/bin/sh -c '{off}; sync'\" sleep infinity")
    assert place.driver.sweep(servers, networks) == ["the server server-2, which an earlier version ran"]
    assert place.driver.sweep(servers, networks) == []
    assert place.driver.statuses(["server-2"])["server-2"] == "ERROR"  # and not SHUTOFF, which nothing starts again
    with pytest.raises(GuestCommandFailed, match="an earlier version of Vetro ran it, and 'vetro cloud start' starts"):
        place.driver.execute("server-2", ["true"])
    place.driver.start("server-2")
    assert place.sh(2, "cat /root/off; hostname") == "off\nweb2\n[0]"


@pytest.mark.campaign
def test_two_servers_of_one_machine_name_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    there = place.driver._server("server-1").machine
    monkeypatch.setattr("vetro.clouds.nspawn.server.digest", lambda text, length: digest("server-1", length))
    with pytest.raises(DriverError, match=f"the machine {there} of the server 'web7' belongs to another server"):
        place.driver.create(server(7, place.blocks[0]))
    monkeypatch.undo()
    assert place.driver.statuses(["server-1", "server-7"]) == {"server-1": "ACTIVE"}


@pytest.mark.campaign
def test_a_guest_that_powers_itself_off_is_stopped(place: Place) -> None:
    try:
        place.sh(4, "systemctl poweroff; sleep 20")
    except GuestCommandFailed as error:
        assert "stopped" in str(error)
    _until(lambda: place.driver.statuses(["server-4"])["server-4"] == "SHUTOFF")


@pytest.mark.campaign
def test_a_server_that_cannot_start_says_why(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.clouds.guest import first_files

    monkeypatch.setattr(first_files, "_NETWORK_UNIT", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'poweroff -ff'\n")
    with pytest.raises(ServerBootFailed, match="the server 'web6' did not start: it ended with status 0"):
        place.driver.create(server(6, place.blocks[0]))
    place.driver.delete("server-6")


def _until(condition: Callable[[], object], seconds: float = 60, seen: Callable[[], str] = str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, seen()
        time.sleep(0.02)


def _size(folder: Path) -> int:
    """Bytes of a console that may be turned over meanwhile."""
    found = 0
    for path in folder.glob("console.log*"):
        with contextlib.suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def _said(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def _fields(nic: NicSpec) -> dict[str, object]:
    return {name: getattr(nic, name) for name in NicSpec.__slots__}
