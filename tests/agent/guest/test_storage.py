from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.needs import need, needs
from vetro.agent.guest import storage
from vetro.agent.guest.storage import Storage, StorageBusy
from vetro.clouds.drivers.tools import which
from vetro.clouds.nspawn.supervisor import MAKE, OPTIONS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Storage]:
    found = Storage(str(tmp_path / "s"))
    yield found
    found.release()


def body(id: str) -> bytes:
    return json.dumps({"ID": id}).encode()


def test_layout(store: Storage, tmp_path: Path) -> None:
    plan = store.add("one", b'{"ID": "one"}', b"\xff", "reply", 17)
    assert json.loads((Path(plan.path) / "plan.json").read_text()) == {
        "Data": "eyJJRCI6ICJvbmUifQ==",
        "Signature": "/w==",
        "ID": "one",
        "ReplyTo": "reply",
    }
    assert (tmp_path / "s" / "plans" / "stamp").read_text() == "17"
    assert abs(int(os.path.basename(plan.path)) / 10000 - os.stat(plan.path).st_mtime) < 60
    for path in (tmp_path / "s" / "plans", tmp_path / "s" / "files", Path(plan.path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((Path(plan.path) / "plan.json").stat().st_mode) == 0o600


def test_files_that_cannot_be_removed_keep_no_agent_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as on a disk that has gone bad; the others are removed."""
    files = tmp_path / "s" / "files"
    (files / "plan").mkdir(parents=True)
    for name in ("bad", "good", "plan/bad", "plan/good"):
        (files / name).touch()
    known = os.unlink

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        if os.path.basename(path) == "bad":
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        known(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    store = Storage(str(tmp_path / "s"))
    try:
        store.add("one", body("one"), None, None, 1)
        assert [plan.id for plan in store.plans()] == ["one"]
    finally:
        store.release()
    assert sorted(path.relative_to(files).as_posix() for path in files.rglob("*")) == ["bad", "plan", "plan/bad"]
    assert "files/bad stays" in caplog.text and "files/plan stays" in caplog.text and len(caplog.records) == 2


@needs(which("chattr"), "chattr")
def test_an_immutable_file_keeps_no_agent_from_starting(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A plan made it so; whoever is to change that is the agent."""
    path = tmp_path / "s" / "files" / "kept"
    path.parent.mkdir(parents=True)
    path.touch()
    if subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode != 0:
        need("a file system, and rights, that make files immutable")
    try:
        store = Storage(str(tmp_path / "s"))
        store.release()
        assert path.exists() and "files/kept stays from a former plan" in caplog.text
    finally:
        subprocess.run(["chattr", "-i", path], check=True)
    Storage(str(tmp_path / "s")).release()
    assert not path.exists()


def test_plans_are_in_order_and_known(store: Storage, tmp_path: Path) -> None:
    for n in range(30):
        store.add(str(n), body(str(n)), None, None, n)
    assert [plan.id for plan in store.plans()] == [str(n) for n in range(30)]
    for plan in store.plans():
        store.remove(plan)
    store.release()
    again = Storage(str(tmp_path / "s"))
    try:
        assert (again.plans(), again.last_stamp) == ([], 29)
        assert again.knows(body("7"))
        assert not again.knows(body("30"))
    finally:
        store._lock = os.open(os.devnull, os.O_RDONLY)
        again.release()


def test_what_a_crash_leaves_is_cleared_away(store: Storage, tmp_path: Path) -> None:
    plans = tmp_path / "s" / "plans"
    (plans / "123").mkdir()
    (plans / "124").mkdir()
    (plans / "124" / "plan.json").write_text('{"Data": "')
    (plans / "125").mkdir()
    (plans / "125" / "result.json").write_text("{}")
    (plans / "126").mkdir()
    (plans / "126" / "plan.json").write_text('{"ID": "x"}')
    good = store.add("good", body("good"), None, None, None)
    (plans / "stamp").write_text("rubbish")
    (plans / "known").write_text('"old"\n"half')
    (tmp_path / "s" / "files" / "left").mkdir()
    store.release()
    again = Storage(str(tmp_path / "s"))
    try:
        assert [plan.path for plan in again.plans()] == [good.path]
        assert again.last_stamp is None
        assert again.knows(body("good"))
        assert again.knows(body("old"))
        assert os.listdir(tmp_path / "s" / "files") == []
    finally:
        store._lock = os.open(os.devnull, os.O_RDONLY)
        again.release()


def test_a_write_that_fails_changes_nothing(store: Storage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = store.add("one", body("one"), None, None, 1)
    plan.write_result("first")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        plan.write_result("second")
    assert plan.result == "first"
    with pytest.raises(OSError, match="No space"):
        store.add("two", body("two"), None, None, 2)
    monkeypatch.undo()
    assert [found.id for found in store.plans()] == ["one"]
    assert not store.knows(body("two"))
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.endswith(".new")]


def test_ids_are_forgotten_in_the_end(store: Storage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(storage, "REMEMBERED", 10)
    for n in range(50):
        store.remove(store.add(str(n), body(str(n)), None, None, None))
    assert [n for n in range(50) if store.knows(body(str(n)))][-10:] == list(range(40, 50))
    assert not store.knows(body("0"))
    assert len((tmp_path / "s" / "plans" / "known").read_text().splitlines()) <= 20


def test_only_one_agent(store: Storage, tmp_path: Path) -> None:
    with pytest.raises(StorageBusy, match="another agent"):
        Storage(str(tmp_path / "s"))


@pytest.mark.attack("agent", "paths")
def test_working_folders_stay_inside(store: Storage, tmp_path: Path) -> None:
    root = str(tmp_path / "s" / "files")
    for id in ("abc-1", "..", ".", "../x", "/x", "a/b", "", "x" * 300, "ж", "\ud800", ".hidden"):
        folder = store.work_folder(id)
        assert os.path.dirname(folder) == root
        assert os.path.basename(folder) not in ("", ".", "..")


@pytest.fixture(params=["tmpfs", "ext4", "btrfs"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own, as disks of servers have them."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    folder, kind, what = tmp_path / "small", request.param, "tmpfs"
    folder.mkdir()
    words = ["-o", "size=128m"]
    if kind != "tmpfs":
        need(None if which(f"mkfs.{kind}") else f"mkfs.{kind}")
        what = str(tmp_path / "disk.img")
        with open(what, "wb") as file:
            file.truncate(128 << 20)
        subprocess.run([*MAKE[kind], what], check=True, capture_output=True)
        words = ["-o", f"loop{OPTIONS[kind]}"]
    mounted = subprocess.run(["mount", "-t", kind, *words, what, str(folder)], capture_output=True)
    assert mounted.returncode == 0, mounted.stderr
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def fill(folder: Path) -> None:
    """Takes all room that is left."""
    with open(folder / "fill", "ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def test_a_full_disk_still_takes_a_plan(small: Path, request: pytest.FixtureRequest) -> None:
    store = Storage(str(small / "s"))
    try:
        fill(small)
        # btrfs moves what it frees: each time it gives less of a disk as small as this one.
        for number in range(1 if "btrfs" in request.node.name else 3):
            plan = store.add(str(number), body(str(number)), None, None, number + 1)
            assert free(small) > 4 << 20, "for what it does"
            plan.mark_started()
            plan.write_result("x" * 1_000_000)
            assert store.plans()[0].result is not None
            store.remove(plan)
            for _ in range(100):
                os.sync()  # btrfs frees nothing before, which it does by itself after a while
                store.reserve.fill()
                if not store.reserve.lacking:
                    break
                time.sleep(0.1)  # as the agent, which tries again
            assert not store.reserve.lacking
            assert (small / "s/reserve/room").stat().st_size > 1 << 20, "it is taken again before others take it"
            fill(small)
        plan = store.add("full", body("full"), None, None, None)
        fill(small)  # what runs now may use all of it
        with pytest.raises(OSError, match="No space left"):
            store.add("no more", body("no more"), None, None, 9)
        assert not store.knows(body("no more")) and store.last_stamp == number + 1, "it may come again"
        (small / "fill").unlink()
        store.add("no more", body("no more"), None, None, 9)
    finally:
        store.release()
    again = Storage(str(small / "s"))
    assert all(again.knows(body(id)) for id in ("0", "full", "no more")) and again.last_stamp == 9
    again.release()


def test_the_last_room_of_a_disk_is_left_to_others(small: Path) -> None:
    with open(small / "theirs", "wb") as file:
        file.write(b"x" * (free(small) - (14 << 20)))
        os.fsync(file.fileno())
    store = Storage(str(small / "s"))
    assert not (small / "s" / "reserve").exists()
    (small / "theirs").unlink()
    os.sync()
    store.remove(store.add("1", body("1"), None, None, None))
    assert (small / "s/reserve/room").stat().st_blocks * 512 >= 8 << 20
    store.release()


def test_what_was_left_of_taking_room_is_room_again(small: Path) -> None:
    os.close(Storage(str(small / "s"))._lock)
    kept = small / "s" / "reserve"
    (kept / "room").rename(kept / "room.new")  # killed before it had its name
    fill(small)
    store = Storage(str(small / "s"))
    try:
        assert not (kept / "room.new").exists()
        os.sync()  # as above
        store.add("1", body("1"), None, None, 1)
    finally:
        os.close(store._lock)
