"""What processes, clouds and folders that are gone left behind on this machine is found and cleared away."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.servers import free_block, network, real_servers, server, traces
from vetro.clouds.nspawn import registry
from vetro.clouds.nspawn.driver import NspawnDriver

pytestmark = pytest.mark.attack("processes", "walls of guests")


@pytest.mark.campaign
def test_what_a_killed_process_left_is_found(tmp_path: Path) -> None:
    """A process that made a network and two servers is killed in the middle of the third, then swept from outside."""
    images = real_servers()
    block = free_block()
    script = f"""
import os, signal, threading
from pathlib import Path
from tests.support.servers import network, server
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.images.store import ImageStore
driver = NspawnDriver(Path({str(tmp_path)!r}), images=ImageStore(Path({str(images.folder)!r})))
driver.ensure_network(network({block!r}))
driver.create(server(1, {block!r}))
real = driver._networks.admit
driver._networks.admit = lambda *args: (real(*args), os.kill(os.getpid(), signal.SIGKILL))
driver.create(server(2, {block!r}))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    driver = NspawnDriver(tmp_path, images=images)
    assert driver.statuses(["server-1", "server-2"]) == {"server-1": "ACTIVE", "server-2": "ERROR"}
    assert driver.execute("server-1", ["hostname"]).stdout == b"web1\n"  # it outlives who made it
    assert driver.sweep(["server-1"], ["net"]) == ["server web2 (server-2)"]
    assert driver.sweep(["server-1"], ["net"]) == []
    assert any(traces(driver.cloud, tmp_path).values())
    done_lines = driver.clear()
    assert "server web1 (server-1)" in done_lines and "network net (net)" in done_lines
    left = traces(driver.cloud, tmp_path)
    assert not any(left.values()), left


@pytest.mark.campaign
@pytest.mark.attack("data", "M4")
def test_a_server_that_the_cloud_does_not_know_is_kept_for_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a power cut that took the last moments of cloud.db, and a backup that brought them back."""
    driver = NspawnDriver(tmp_path, images=real_servers())
    block = free_block()
    try:
        driver.ensure_network(network(block))
        driver.create(server(1, block))
        driver.execute("server-1", ["sh", "-c", "echo kept > /root/kept; sync"])
        unknown = "server web1 (server-1): unknown to the cloud, stopped and kept for a day"
        assert unknown in driver.sweep([], [])
        assert driver.sweep([], []) == []
        ((spec, folder, until),) = driver.quarantined()
        assert spec.name == "web1" and folder.name == "server-1" and 86_000 < until - time.time() <= 86_400
        assert not driver._server("server-1").alive() and (folder / "disk.img").exists()
        assert driver.sweep(["server-1"], ["net"]) == ["quarantine of the server server-1"]
        assert driver.statuses(["server-1"]) == {"server-1": "ERROR"}  # which healing starts again
        driver.ensure_network(network(block))
        driver.start("server-1")
        assert driver.execute("server-1", ["cat", "/root/kept"]).stdout == b"kept\n"
        driver.sweep([], [])
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 86_401)
        assert driver.sweep([], []) == ["server web1 (server-1)"]
        monkeypatch.undo()
    finally:
        driver.clear()
    assert not any((left := traces(driver.cloud, tmp_path)).values()), left


@pytest.mark.campaign
def test_a_cloud_whose_folder_is_gone_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    driver = NspawnDriver(folder, images=real_servers())
    block = free_block()
    driver.ensure_network(network(block))
    driver.create(server(1, block))
    home = folder / "nspawn"
    moved = tmp_path / "moved"
    home.rename(moved)
    assert registry.orphans()[driver.cloud] == str(home)
    done = list(registry.purge(driver.cloud))
    assert any("processes of 1 server" in line for line in done)
    end = time.monotonic() + 15
    while any((left := traces(driver.cloud, folder)).values()):
        assert time.monotonic() < end, {key: value for key, value in left.items() if value}
        time.sleep(0.02)
    shutil.rmtree(moved)
