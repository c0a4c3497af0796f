"""The cloud helper as its unit runs it, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vetro.clouds.images.store import ImageStore

PATIENCE = 60.0


@contextmanager
def cloud_helper(
    directory: Path, place: Path, *, user: str = "root", images: ImageStore | None = None, settings: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """A helper that keeps its things in ``directory`` and listens at ``place``; ``settings``: its file."""
    file = directory.with_suffix(".toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings)
    program = [sys.executable, "-m", "vetro", "cloud", "helper", "--user", user]
    options = ["--directory", str(directory), "--socket", str(place), "--settings", str(file)]
    images = images or ImageStore(directory / "images")
    process = subprocess.Popen([*program, *options], env={**os.environ, "VETRO_IMAGES": str(images.folder)})
    try:
        wait_for(place, process)
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for(place: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a helper listens."""
    end = time.monotonic() + PATIENCE
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(place))
                return
            except OSError:
                assert process.poll() is None and time.monotonic() < end, "the helper did not start"
        time.sleep(0.02)
