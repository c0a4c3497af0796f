"""What processes, control groups and folders use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vetro.clouds.drivers import folder_sizes
from vetro.clouds.drivers.folder_sizes import FolderSizes
from vetro.clouds.drivers.processes import process, used_below
from vetro.clouds.nspawn.cgroups import Cgroups

BUSY = "import subprocess, sys; b = bytearray(64 << 20); s = sum(range(10**7)); "


def test_a_process_and_all_below_it_are_counted() -> None:
    inner = f"{BUSY} print('there', flush=True); sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    started = subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert started.stdout is not None and started.stdout.readline() == b"there\n"
        first = process(started.pid)
        assert first is not None
        seconds, memory = used_below(first)
        assert seconds > 0.1 and memory > 64 << 20
    finally:
        started.communicate()
    assert used_below(first) == (0.0, 0)


def test_both_versions_of_control_groups(tmp_path: Path) -> None:
    two = tmp_path / "two"
    group = two / "a" / "b"
    group.mkdir(parents=True)
    (two / "cgroup.controllers").write_text("cpu memory")
    (group / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    (group / "memory.current").write_text("4096\n")
    assert Cgroups(two).group("a", "b").usage() == (2.5, 4096)
    one = tmp_path / "one"
    for name, file, text in (("cpuacct", "cpuacct.usage", "1500000000"), ("memory", "memory.usage_in_bytes", "8192")):
        (one / name / "a").mkdir(parents=True)
        (one / name / "cgroup.procs").write_text("")
        (one / name / "a" / file).write_text(text + "\n")
    assert Cgroups(one).group("a").usage() == (1.5, 8192)
    assert Cgroups(one).group("gone").usage() == (None, None)


def test_folders_are_counted_seldom_and_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = FolderSizes()
    folders = {name: tmp_path / name for name in ("a", "b")}
    for folder in folders.values():
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "file").write_bytes(b"x" * 100_000)
        (folder / "away").symlink_to("/")
    before = sizes.of(folders)
    assert all(size is not None and 100_000 <= size < 400_000 for size in before.values())
    (folders["a"] / "more").write_bytes(b"x" * 1_000_000)
    assert sizes.of(folders) == before
    monkeypatch.setattr(folder_sizes, "_HOLDS", -1.0)
    after = sizes.of(folders)["a"]
    assert after is not None and after > 1_000_000
    monkeypatch.setattr(folder_sizes, "_MOST", 2)
    assert sizes.of(folders) == {"a": None, "b": None}
    monkeypatch.setattr(folder_sizes, "_ROUND", -1.0)
    assert FolderSizes().of(folders) == {"a": None, "b": None}
