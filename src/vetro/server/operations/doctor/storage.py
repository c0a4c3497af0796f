"""The store of package archives: whether it can be written, read and cleaned up."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from vetro.diagnostics import ERROR, OK, Diagnostic, Text
from vetro.server.catalog import blobs
from vetro.server.config.config import Config
from vetro.yaql.errors import VetroError

_HINT = Text("see AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and the bucket's rights")


def examine(config: Config) -> Iterator[Diagnostic]:
    """Puts something small there, reads it and removes it."""
    address = str(config["storage.blobs"])
    began = time.monotonic()
    if "://" not in address:
        yield from _folder(config.path("storage.blobs"))
        return
    data = b"a probe of vetro doctor " + os.urandom(16)
    try:
        digest = blobs.put(data)
        there = blobs.get(digest) == data
        blobs.store().remove(digest)
    except VetroError as error:
        yield Diagnostic("storage", ERROR, Text("{address}: {message}", address=address, message=error.message), _HINT)
        return
    if not there:
        yield Diagnostic(
            "storage", ERROR, Text("{address} gives back something else than was put there", address=address), _HINT
        )
        return
    yield Diagnostic(
        "storage",
        OK,
        Text(
            "{address} can be written and read ({milliseconds} ms)",
            address=address,
            milliseconds=f"{(time.monotonic() - began) * 1000:.0f}",
        ),
    )


def _folder(place: Path) -> Iterator[Diagnostic]:
    """A file beside the archives: the folders between are the service's, whoever runs this."""
    if not place.exists():
        yield Diagnostic("storage", OK, Text("{place} is made with the first package", place=place))
        return
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(os.urandom(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        hint = Text("the user of the service must own this folder, and its disk must have room")
        yield Diagnostic(
            "storage", ERROR, Text("{place} cannot be written: {reason}", place=place, reason=error.strerror), hint
        )
        return
    yield Diagnostic("storage", OK, Text("{place} can be written", place=place))
