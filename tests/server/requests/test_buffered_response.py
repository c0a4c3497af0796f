"""Answers made in parts: small ones in memory, large ones in a file that never has a name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from vetro.server.requests.buffered_response import PART, SMALL, BufferedResponse, buffered


def test_what_is_small_is_bytes() -> None:
    assert buffered([]) == b"" and buffered([b"a", b"", b"bc"]) == b"abc"
    assert buffered([b"x" * SMALL]) == b"x" * SMALL


def test_what_is_large_comes_in_parts() -> None:
    found = buffered([b"x" * SMALL, b"y", b"z" * 3])
    assert isinstance(found, BufferedResponse) and len(found) == SMALL + 4
    parts = [*found]
    assert b"".join(parts) == b"x" * SMALL + b"yzzz"
    assert max(map(len, parts)) == PART
    found.close()


def test_nothing_is_left_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def parts() -> Iterator[bytes]:
        yield b"x" * (SMALL + 1)
        assert [*tmp_path.iterdir()] == []
        raise LookupError

    with pytest.raises(LookupError):
        buffered(parts())
    assert [*tmp_path.iterdir()] == []
