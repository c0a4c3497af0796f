"""`body_of`: the body of an answer to a download, read in small steps and no further than its limit.

Bodies in chunks are decoded here: Python's own reader takes a negative size of a chunk for "all that comes", reads the
lines between chunks without an end, and believes sizes before it has seen what they announce.
"""

from __future__ import annotations

import re
from http.client import HTTPResponse
from typing import BinaryIO

from vetro.diagnostics import Text
from vetro.server.errors import Unavailable

#: Bytes of one step, of the line with the size of a chunk, and of all lines after the last chunk.
_STEP, _LINE, _TRAILERS = 1 << 16, 1024, 1 << 14
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


class FetchFailed(Unavailable):
    """The address gave no package: no answer, another status, too much, too slow, or not what HTTP says."""

    code = "SRV531"
    status = 400


def body_of(response: HTTPResponse, most: int, url: str) -> bytes:
    """All bytes of the body. Raises `FetchFailed` for one of more than ``most`` bytes, that ends too early, that is
    compressed on the way, or whose length or chunks are none."""
    url = url[:200]
    coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if coding != "identity":
        raise FetchFailed(
            Text("{url}: it is encoded as '{coding}', which was not asked for", url=url, coding=coding[:40])
        )
    transfer = (response.getheader("Transfer-Encoding") or "").strip().lower()
    if transfer not in ("", "chunked"):
        raise FetchFailed(
            Text("{url}: it is sent as '{transfer}', which cannot be read", url=url, transfer=transfer[:40])
        )
    length = (response.getheader("Content-Length") or "").strip()
    if length and not (length.isascii() and length.isdigit() and len(length) < 16):
        raise FetchFailed(
            Text("{url}: its Content-Length '{length}' is no number of bytes", url=url, length=length[:40])
        )
    found = bytearray()
    if transfer:
        if length:
            raise FetchFailed(
                Text("{url}: it is sent in chunks and has a Content-Length, which contradict each other", url=url)
            )
        _chunks(response.fp, found, most, url)
        return bytes(found)
    if length and int(length) > most:
        raise _too_much(url, most)
    while part := response.read(min(_STEP, most + 1 - len(found))):
        found += part
        if len(found) > most:
            raise _too_much(url, most)
    if length and len(found) < int(length):
        raise FetchFailed(Text("{url}: it ended before it was complete", url=url))
    return bytes(found)


def _chunks(source: BinaryIO, found: bytearray, most: int, url: str) -> None:
    while True:
        size = _size(source, url)
        if not size:
            break
        if size > most - len(found):
            raise _too_much(url, most)
        while size:
            part = source.read(min(_STEP, size))
            if not part:
                raise FetchFailed(Text("{url}: it ended before it was complete", url=url))
            found += part
            size -= len(part)
        if source.read(2) != b"\r\n":
            raise FetchFailed(Text("{url}: a chunk is longer or shorter than it says", url=url))
    left = _TRAILERS
    while (line := source.readline(left + 1)) not in (b"\r\n", b"\n", b""):
        left -= len(line)
        if left < 0:
            raise FetchFailed(
                Text("{url}: more than {trailers:,} bytes follow its last chunk", url=url, trailers=_TRAILERS)
            )


def _size(source: BinaryIO, url: str) -> int:
    line = source.readline(_LINE + 1)
    if not line:
        raise FetchFailed(Text("{url}: it ended before it was complete", url=url))
    text = line.partition(b";")[0].strip(b" \t\r\n")
    if len(line) > _LINE or not line.endswith(b"\n") or not _SIZE.fullmatch(text):
        found = text[:40].decode("ascii", "replace")
        raise FetchFailed(Text("{url}: '{found}' is no size of a chunk", url=url, found=found))
    return int(text, 16)


def _too_much(url: str, most: int) -> FetchFailed:
    return FetchFailed(Text("{url}: it has more than {most} bytes", url=url, most=most))
