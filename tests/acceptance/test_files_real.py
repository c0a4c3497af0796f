"""Files of any size to a real server and back, as arguments and results of actions: whole, and with little memory."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.kit_nspawn import place
from tests.catalog.life import told
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

__all__ = ["place"]

SIZE = 200 << 20
BOX = """\
Namespaces: {=: t, std: io.vetro.std, murano: io.murano}
Name: Box
Extends: murano:Application
Properties:
  name: {Contract: $.string().notNull()}
  server: {Contract: $.class(std:Server).notNull()}
Methods:
  deploy:
    Body:
      - $.server.deploy()
  take:
    Scope: Public
    Arguments:
      - file: {Contract: $.class(std:StoredFile).notNull()}
    Body:
      - Return: std:File.receive($.server.agent, $file, '/srv/files/taken', mode => '0644')
  give:
    Scope: Public
    Body:
      - Return: std:File.offer($.server.agent, '/srv/files/taken')
"""


def written(path: Path, size: int) -> str:
    """Writes that many random bytes; their SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(size >> 20):
            digest.update(data := os.urandom(1 << 20))
            file.write(data)
    return digest.hexdigest()


class Memory:
    """The most that processes of these programs had at once, each, in MiB: while this looks, and in its latest half."""

    PROGRAMS = ("vetro.engine.host", "vetro.engine.task", "muranoagent")

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            for folder in Path("/proc").glob("[0-9]*"):
                with suppress(OSError, StopIteration):
                    words = (folder / "cmdline").read_text().replace("\0", " ")
                    name = next(one for one in self.PROGRAMS if one in words)
                    found = re.search(r"^RssAnon:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE)
                    if found is not None:
                        self.seen.append((name, int(found[1]) >> 10))

    def most(self, begin: float = 0.0) -> dict[str, int]:
        """By program; ``begin``: where of all looks it begins."""
        found: dict[str, int] = {}
        for name, size in self.seen[int(begin * len(self.seen)) :]:
            found[name] = max(found.get(name, 0), size)
        return found


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_a_large_file_goes_to_a_server_and_comes_back(place: Place) -> None:
    package = write_package(place.folder / "files", {"t.Box": BOX}, extra="Require: {io.vetro.std: 1}\n")
    chosen = ("--set", "name=box", "--set", "server.flavor=m1.small")
    place.ok("deploy", str(package), "--env", "e", "--app", "box", "--driver", "nspawn", *chosen)
    large = place.folder / "large.bin"
    before = written(large, SIZE)
    memory, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with Memory() as taking:
        assert place.data("env", "action", "e", "take", "--app", "box", "--upload", f"file={large}") is True
    there, back = time.monotonic(), place.folder / "back.bin"
    with Memory() as giving:
        place.ok("env", "action", "e", "give", "--app", "box", "--save", str(back))
    given = time.monotonic() - there
    assert checksum(back) == before
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    told(
        f"{SIZE >> 20} MiB to a server in {there - begun:.1f} s, back in {given:.1f} s;"
        f" {used / 1024:.0f} MiB more memory in the command, MiB of others: {taking.most()} and"
        f" {giving.most()}, in the latest half {giving.most(0.5)}"
    )
    assert used < 64 << 10, f"{used} KiB"
    # Some copies of a part of 4 MiB; the whole file as text would be 267 MiB more than a process has anyway.
    assert max(*taking.most().values(), *giving.most().values()) < 250, (taking.most(), giving.most())
    # The same file is not sent again, and what the task wrote down is small.
    assert place.data("env", "action", "e", "take", "--app", "box", "--upload", f"file={large}") is False
    assert sum(path.stat().st_size for path in place.root.glob("vetro.db*")) < 32 << 20
    assert {path.stat().st_size for path in (place.root / "files").glob("*/*/*")} == {SIZE}
    place.ok("env", "destroy", "e", "--yes")
