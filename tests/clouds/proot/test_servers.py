"""Servers for users without root: one life of a server, as the user 'nobody' when the tests run as root."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.needs import need
from tests.support.nobody import NOBODY, as_nobody
from tests.support.servers import image_store, server
from vetro.clouds.drivers import tools
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.drivers.spec_files import load, save
from vetro.clouds.drivers.specs import VolumeSpec
from vetro.clouds.drivers.tools import which
from vetro.clouds.drivers.values import Id, Name
from vetro.clouds.proot import server as proot_server
from vetro.clouds.proot import systemctl
from vetro.clouds.proot.driver import ProotDriver
from vetro.clouds.proot.kind import KIND


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that an ordinary user may enter (those of pytest are the tests' own)."""
    folder = Path(
        subprocess.run(["mktemp", "-d", "/var/tmp/vetro-proot-XXXXXX"], capture_output=True, text=True).stdout.strip()
    )
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.campaign
def test_a_servers_life_without_root(home: Path) -> None:
    need("proot is not installed" if which("proot") is None else None)
    archive = home / "rootfs.tar"
    shutil.copyfile(image_store().get("debian-12").tar, archive)
    archive.chmod(0o644)
    done = as_nobody("tests.support.proot_life", [str(home), str(archive)], 110, HOME=str(home))
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert seen["choice"] == "proot"
    assert seen["status"] == {"server-1": "ACTIVE"}
    assert seen["served"]
    assert seen["who"] == f"root\nweb1\n{seen['address']} web1\n[0]"
    assert seen["active"] == "active\ninactive\n[3]"
    assert seen["stopped"]
    assert seen["config"] == 2
    assert seen["file"] == "data"
    assert seen["quiet"], "its daemons go with it"
    assert seen["shutoff"] == {"server-1": "SHUTOFF"}
    assert seen["back"], "what was enabled starts with the server"
    assert seen["runs"] == "run\n[0]", "user data runs once"
    assert seen["swept"] == ["server web1 (server-1)", "network net (net)"]
    assert seen["left"] == []
    assert str(home) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


@pytest.mark.campaign  # two servers, each a copy of the image, and five starts
@pytest.mark.timeout(900)
def test_a_volume_outlives_its_server_without_root(home: Path) -> None:
    need("proot is not installed" if which("proot") is None else None)
    archive = home / "rootfs.tar"
    shutil.copyfile(image_store().get("debian-12").tar, archive)
    archive.chmod(0o644)
    done = as_nobody("tests.support.proot_volumes", [str(home), str(archive)], 880, HOME=str(home))
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {
        "changed": '{"changed": [0], "values": [null]}[0]',
        "again": '{"changed": [], "values": [null]}[0]',
        "without": "ls: cannot access '/run/vetro-volumes': No such file or directory\n[2]",
        "moved": "kept\n[0]",
        "gone": "later\n[0]",
        "back": "kept\n[0]",
        "left": "",
    }


def test_volumes_that_a_server_without_root_cannot_have(tmp_path: Path) -> None:
    driver, spec = ProotDriver(tmp_path), server(1, "10.99.0")
    one = VolumeSpec(Id("volume-1"), Name("data"), 1, device="/dev/vdb")
    with pytest.raises(DriverError, match="there is no volume 'data' that 'web1' could have"):
        driver._attached(replace(spec, volumes=(one,)))
    driver.ensure_volume(one)
    assert driver._attached(replace(spec, volumes=(one, replace(one, boot_index=0)))) == {"vdb": driver._volume(one.id)}
    with pytest.raises(DriverError, match="two volumes of 'web1' are to be its device vdb"):
        driver._attached(replace(spec, volumes=(one, one)))
    with pytest.raises(DriverError, match="only to read it"):
        driver._attached(replace(spec, volumes=(replace(one, read_only=True),)))
    driver.delete_volume(one.id)
    driver.delete_volume(one.id)


def test_root_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    driver = ProotDriver(tmp_path)
    with pytest.raises(DriverError, match="protects nothing from root"):
        driver.create(server(1, "10.99.0"))
    assert driver.statuses(["server-1"]) == {}
    lack = KIND.missing()
    assert lack is not None and "root" in lack


def test_a_server_that_has_booted_before_anybody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may show the first process only when its user data has run."""
    folder = tmp_path / "server-1"
    booted = folder / "root/run/vetro-boot.json"
    booted.parent.mkdir(parents=True)
    save(folder / "server.json", {})
    proot = tmp_path / "bin/proot"
    proot.parent.mkdir()
    proot.write_text(f"#!/bin/sh\necho '{{}}' > {booted}\nexec sleep 60\n")
    proot.chmod(0o755)
    monkeypatch.setattr(tools, "PATH", f"{proot.parent}:{tools.PATH}")

    def run_and_wait(words: list[str]) -> None:
        tools.run(words)
        end = time.monotonic() + 60
        while not booted.exists() or not booted.stat().st_size:
            assert time.monotonic() < end
            time.sleep(0.01)

    monkeypatch.setattr(proot_server, "run", run_and_wait)
    one = proot_server.ProotServer(folder)
    one.start({})
    try:
        assert one.status() == "ACTIVE"
    finally:
        pid = load(folder / "running.json")[0]
        os.kill(pid, signal.SIGKILL)


class TestServices:
    """The stand-in for systemctl, on units in a folder of the test."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        for name in ("systemctl", "service"):
            (tmp_path / name).symlink_to(str(systemctl.__file__))

    def unit(self, name: str, text: str) -> None:
        (self.folder / f"{name}.service").write_text(f"[Unit]\nDescription=x\n[Service]\n{text}\n[Install]\nX=1\n")

    def run(self, *words: str) -> tuple[int, str]:
        """Exit status and messages of a command."""
        env = {
            **os.environ,
            "VETRO_UNITS": str(self.folder),
            "VETRO_SERVICES": str(self.folder / "state"),
            "VETRO_SERVICE_LOGS": str(self.folder / "logs"),
            "VETRO_WANTS": str(self.folder / "wants"),
        }
        program = [sys.executable, "-I", str(self.folder / words[0])]
        done = subprocess.run([*program, *words[1:]], env=env, capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_oneshot_runs_all_commands_with_its_environment(self) -> None:
        (self.folder / "env").write_text('# c\nA="one"\n')
        out = self.folder / "out"
        self.unit(
            "job",
            f"Type=oneshot\nEnvironmentFile={self.folder}/env\nEnvironment=B=two 'C=x y'\n"
            f"ExecStartPre=-/bin/false\nExecStart=/bin/sh -c 'echo ${{A}} ${{B}} \\\n  \"${{C}}\" > {out}'",
        )
        assert self.run("systemctl", "start", "job.service") == (0, "")
        assert out.read_text().split() == ["one", "two", "x", "y"]
        assert self.run("systemctl", "is-active", "job")[0] == 0
        assert self.run("systemctl", "stop", "job")[0] == 0
        assert self.run("systemctl", "status", "job")[0] == 3

    def test_a_daemon_is_started_once_and_stopped(self) -> None:
        self.unit("daemon", "ExecStart=/bin/sleep 300")
        assert self.run("service", "daemon", "start") == (0, "")
        pid = int((self.folder / "state/daemon.pid").read_text())
        assert systemctl.alive(pid)
        assert self.run("systemctl", "enable", "--now", "daemon")[0] == 0
        assert int((self.folder / "state/daemon.pid").read_text()) == pid
        assert self.run("systemctl", "restart", "daemon")[0] == 0
        second = int((self.folder / "state/daemon.pid").read_text())
        assert second != pid and systemctl.alive(second) and not systemctl.alive(pid)
        assert self.run("service", "daemon", "stop")[0] == 0
        assert not systemctl.alive(second)

    def test_what_was_enabled_starts_with_the_server(self) -> None:
        for name in ("first", "second", "third"):
            self.unit(name, "ExecStart=/bin/sleep 300")
        for name in ("first", "second"):
            path = self.folder / f"{name}.service"
            path.write_text(path.read_text().replace("X=1", "WantedBy=multi-user.target"))
            assert self.run("systemctl", "enable", name) == (0, "")
        assert self.run("systemctl", "enable", "third") == (0, "")  # nothing wants it
        assert self.run("systemctl", "enable", "none")[0] == 1
        assert [self.run("systemctl", "is-enabled", name)[0] for name in ("first", "third")] == [0, 1]
        old = self.folder / "wants/multi-user.target.wants/image.service"
        old.symlink_to(self.folder / "third.service")
        os.utime(old, (0, 0), follow_symlinks=False)  # the image came with it
        assert self.run("systemctl", "disable", "second") == (0, "")
        (self.folder / "state-before").mkdir()
        (self.folder / "state-before/third.pid").write_text("1")  # it ran when the server was stopped
        assert self.run("systemctl", "start-enabled") == (0, "")
        try:
            assert sorted(path.name for path in (self.folder / "state").iterdir()) == ["first.pid", "third.pid"]
        finally:
            assert self.run("systemctl", "stop", "third")[0] == 0
            assert self.run("systemctl", "disable", "--now", "first")[0] == 0
        assert (
            self.run("systemctl", "is-enabled", "first")[0] == self.run("systemctl", "is-active", "first")[0] - 2 == 1
        )

    def test_failures_are_said(self) -> None:
        self.unit("bad", "Type=oneshot\nExecStart=/bin/false")
        assert "ended with status 1" in self.run("systemctl", "start", "bad")[1]
        assert self.run("systemctl", "start", "none") == (
            5,
            "Failed to start none.service: Unit none.service not found.\n",
        )
        assert "'dance' is not known" in self.run("systemctl", "dance", "bad")[1]


@pytest.mark.attack("quotas", "consoles")
@pytest.mark.parametrize("what", ["much", "link", "pipe", "folder", "nothing"])
def test_a_console_is_read_within_bounds(tmp_path: Path, what: str) -> None:
    """A server may print for days, and its files are the user's own: the service read as much as it held."""
    made = proot_server.ProotServer(tmp_path)
    log = tmp_path / "console.log"
    if what == "much":
        with log.open("wb") as file:
            file.truncate(1 << 40)
            file.seek(0, os.SEEK_END)
            file.write(b"\nthe end\n")
    elif what == "link":
        log.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(log)
    elif what == "folder":
        log.mkdir()
    assert made.console(1) == ("the end" if what == "much" else "")


def test_what_a_full_disk_left_of_a_copy_goes_with_the_snapshot(tmp_path: Path) -> None:
    """Copies are made where the server is; a file system of its own is full before one is whole."""
    need("a file system of its own needs root" if os.geteuid() else None)
    folder = tmp_path / "server-1"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)
    try:
        (folder / "root").mkdir()
        (folder / "root/data").write_bytes(os.urandom(5 << 20))
        one = proot_server.ProotServer(folder)
        with pytest.raises(DriverError):
            one.take_snapshot("s")
        assert not (folder / "snapshots/s").exists() and (folder / "root/data").stat().st_size == 5 << 20
        one.drop_snapshot("s")
        assert [path.name for path in (folder / "snapshots").iterdir()] == ["copy.lock"]
        (folder / "root/data").write_bytes(b"small")  # there is room: the next one is whole
        one.take_snapshot("s")
        assert (folder / "snapshots/s/data").read_bytes() == b"small"
    finally:
        subprocess.run(["umount", str(folder)], check=True)
