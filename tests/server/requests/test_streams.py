"""Streams: so many and no more, and a place is free again however one ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vetro.server import setup
from vetro.server.config.address import RUN
from vetro.server.errors import TooMany
from vetro.server.requests.streams import event_stream, open_streams, text_stream

#: Closing a response looks after database connections.
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"server.streams": 2}))


def parts() -> Iterator[bytes]:
    yield b"data: 1\n\n"
    yield b"data: 2\n\n"


def test_a_stream_sends_its_parts() -> None:
    response: Any = event_stream(parts)
    assert response["Content-Type"] == "text/event-stream"
    assert b"".join(response) == b"data: 1\n\ndata: 2\n\n"
    assert open_streams() == 0


def test_one_too_many_is_told_to_come_again() -> None:
    first, second = event_stream(parts), event_stream(parts)
    third: Any = event_stream(parts)
    assert (third.streaming, third.content) == (False, b"retry: 5000\n\n")
    first.close()
    assert event_stream(parts).streaming is True
    second.close()


def test_one_project_does_not_take_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"server.streams": 8}))
    hog = [event_stream(parts, "hog") for _ in range(8)]
    assert [one.streaming for one in hog] == [True] * 7 + [False]
    other = event_stream(parts, "other")
    assert (other.streaming, event_stream(parts, "third").streaming) == (True, False)
    for one in (*hog, other):
        one.close()
    assert open_streams() == 0
    assert event_stream(parts, "hog").streaming is True


@pytest.mark.attack("bodies", "slow-reader")
def test_logs_that_nobody_reads_hold_as_many_threads_as_streams_may() -> None:
    """Each part waits up to a minute for its client, in a thread that others need."""
    unread = [text_stream(lambda: iter(["x" * 100]), "log.txt", "hog") for _ in range(2)]
    with pytest.raises(TooMany):
        text_stream(lambda: iter([]), "log.txt", "hog")
    assert open_streams() == 2
    unread.pop().close()
    read: Any = text_stream(lambda: iter(["\ud800", "b"]), "log.txt", "hog")
    assert b"".join(read) == b"\\ud800b"
    unread.pop().close()
    assert open_streams() == 0


@pytest.mark.parametrize("read", [0, 1])
def test_a_client_that_goes_away_frees_its_place_and_ends_the_source(read: int) -> None:
    ended = []

    def watched() -> Iterator[bytes]:
        try:
            yield from parts()
        finally:
            ended.append(True)

    response: Any = event_stream(watched)
    for _ in range(read):
        next(iter(response))
    response.close()
    assert (open_streams(), len(ended)) == (0, read)


def test_a_source_that_fails_frees_its_place() -> None:
    def broken() -> Iterator[bytes]:
        yield b"data: 1\n\n"
        raise OSError("gone")

    response: Any = event_stream(broken)
    with pytest.raises(OSError, match="gone"):
        list(response)
    assert open_streams() == 0


def test_nothing_begins_while_the_service_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    (tmp_path / "stopping").touch()
    assert event_stream(parts).streaming is False
