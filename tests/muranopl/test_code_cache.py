from __future__ import annotations

import sys

import pytest

from vetro.muranopl.code_cache import MemoryCache, cache_key


def test_the_memory_cache_keeps_what_was_put() -> None:
    cache = MemoryCache()
    assert cache.get("k") is None
    cache.put("k", b"x")
    cache.put("k", b"y")
    assert (cache.get("k"), len(cache)) == (b"y", 1)


def test_keys_depend_on_everything_that_byte_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    key = cache_key("1", "digest", "name")
    assert len(key) == 64 and key == cache_key("1", "digest", "name")
    others = [cache_key("2", "digest", "name"), cache_key("1", "digest2", "name"), cache_key("1", "digest", "nam", "e")]
    monkeypatch.setattr("vetro.muranopl.code_cache.MAGIC_NUMBER", b"abcd")
    others.append(cache_key("1", "digest", "name"))
    assert len({key, *others}) == 5


def test_parts_are_kept_apart() -> None:
    assert cache_key("1", "ab", "c") != cache_key("1", "a", "bc")
    assert cache_key("1", "\ud800") != cache_key("1", "?")
    assert sys.implementation.cache_tag


def test_a_key_says_to_which_file_it_belongs() -> None:
    from vetro.muranopl.code_cache import file_of, key_of_file

    key = key_of_file("/blobs/a/Classes/x.yaml", cache_key("1", "x"))
    assert file_of(key) == "/blobs/a/Classes/x.yaml"
    assert file_of(key_of_file("a\0b", "c")) == "a\0b"
    assert file_of(cache_key("1", "x")) == ""
