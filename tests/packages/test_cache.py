from __future__ import annotations

import logging
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.code_cache import CodeCache, cache_key
from vetro.packages.cache import DiskCache

KEY = cache_key("1", "x")


def entry(root: Path, key: str = KEY) -> Path:
    return root / "entries" / key[:2] / key


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "vetro")


def test_entries_survive_the_process(root: Path) -> None:
    cache: CodeCache = DiskCache(root, writable=True)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    cache.put(KEY, b"newer code")
    assert cache.get(KEY) == b"newer code"
    assert DiskCache(root).get(KEY) == b"newer code"
    cache.put("any text / ../ \ud800", b"")
    assert DiskCache(root).get("any text / ../ \ud800") == b""


def test_files_are_private_and_the_key_is_outside_of_the_entries(root: Path) -> None:
    DiskCache(root, writable=True).put(KEY, b"x")
    assert sorted(os.listdir(root)) == ["entries", "key"]
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (root, root / "key", entry(root).parent, entry(root))]
    assert modes == [0o700, 0o600, 0o700, 0o600]
    assert os.listdir(entry(root).parent) == [KEY]


def test_a_read_only_cache_writes_nothing(root: Path) -> None:
    cache = DiskCache(root)
    cache.put(KEY, b"x")
    assert cache.get(KEY) is None and not root.exists() and cache.refused is None
    DiskCache(root, writable=True)
    DiskCache(root).put(KEY, b"x")
    assert not entry(root).exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"VTC1", b"VTC1" + bytes(32) + b"code", b"code" * 100],
)
def test_foreign_and_damaged_entries_are_ignored_and_rebuilt(root: Path, content: bytes) -> None:
    cache = DiskCache(root, writable=True)
    cache.put(KEY, b"code")
    entry(root).write_bytes(content)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 39), st.integers(1, 255))
def test_any_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, at: int, flip: int) -> None:
    root = tmp_path_factory.mktemp("c") / "cache"
    cache = DiskCache(root, writable=True)
    cache.put(KEY, b"code")
    data = bytearray(entry(root).read_bytes())
    data[at] ^= flip
    entry(root).write_bytes(data)
    assert cache.get(KEY) is None
    shutil.rmtree(root)


def test_a_genuine_entry_under_another_key_is_foreign(root: Path) -> None:
    cache = DiskCache(root, writable=True)
    cache.put(KEY, b"code")
    other = cache_key("1", "y")
    entry(root, other).parent.mkdir(exist_ok=True)
    shutil.copy(entry(root), entry(root, other))
    assert cache.get(other) is None


def test_entries_of_another_cache_are_foreign(root: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    DiskCache(stranger, writable=True).put(KEY, b"evil")
    cache = DiskCache(root, writable=True)
    entry(root).parent.mkdir()
    shutil.copy(entry(stranger), entry(root))
    assert cache.get(KEY) is None


def test_links_pipes_and_writable_entries_are_not_read(root: Path, tmp_path: Path) -> None:
    cache = DiskCache(root, writable=True)
    cache.put(KEY, b"code")
    real = tmp_path / "real"
    shutil.move(entry(root), real)
    entry(root).symlink_to(real)
    assert cache.get(KEY) is None
    entry(root).unlink()
    os.mkfifo(entry(root), 0o600)
    assert cache.get(KEY) is None
    entry(root).unlink()
    shutil.move(real, entry(root))
    assert cache.get(KEY) == b"code"
    entry(root).chmod(0o666)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("what", [".", "entries", "key"])
def test_what_others_can_write_is_not_used(root: Path, what: str) -> None:
    DiskCache(root, writable=True).put(KEY, b"code")
    (root / what).chmod(0o777)
    for writable in (False, True):
        cache = DiskCache(root, writable=writable)
        assert cache.refused is not None and str(root) in cache.refused
        cache.put(KEY, b"other")
        assert cache.get(KEY) is None


def test_what_belongs_to_another_user_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DiskCache(root, writable=True).put(KEY, b"code")
    if os.geteuid() == 0:
        os.chown(entry(root), 12345, -1)
        assert DiskCache(root).get(KEY) is None
        os.chown(root / "key", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    cache = DiskCache(root)
    assert cache.get(KEY) is None and cache.refused is not None


def test_a_cut_off_key_is_made_anew(root: Path) -> None:
    DiskCache(root, writable=True).put(KEY, b"code")
    (root / "key").write_bytes(b"short")
    assert DiskCache(root).refused is not None
    cache = DiskCache(root, writable=True)
    assert cache.refused is None and cache.get(KEY) is None, "entries of the old key prove nothing"
    cache.put(KEY, b"code")
    assert DiskCache(root).get(KEY) == b"code"


def test_a_place_that_cannot_be_used_is_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file/cache", writable=True)
    cache.put(KEY, b"x")
    assert cache.get(KEY) is None and cache.refused is not None


def test_a_write_that_fails_costs_only_the_entry(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(root, writable=True)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put(KEY, b"x")
    monkeypatch.undo()
    assert cache.get(KEY) is None and os.listdir(entry(root).parent) == []


def test_the_oldest_entries_go_when_it_grows_too_large(root: Path) -> None:
    cache = DiskCache(root, writable=True, max_bytes=100_000)
    keys = [cache_key("1", str(i)) for i in range(20)]
    for age, key in enumerate(keys):
        cache.put(key, bytes(10_000))
        os.utime(entry(root, key), (1_000_000 + age, 1_000_000 + age))
    cache.prune()
    kept = [key for key in keys if cache.get(key) is not None]
    assert kept == keys[-len(kept) :] and 4 <= len(kept) <= 9
    cache.put(KEY, bytes(200_000))
    assert cache.get(KEY) is None, "larger than the whole cache"


def test_no_entry_is_ever_half_written(root: Path) -> None:
    cache = DiskCache(root, writable=True)
    (root / "entries").mkdir(exist_ok=True)
    left = entry(root).parent
    left.mkdir()
    (left / ".new-abc").write_bytes(b"half")
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
