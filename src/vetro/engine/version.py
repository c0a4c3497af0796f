"""Which program runs a task. What one began, only the same one goes on with.

A version number is not enough: checkouts are updated, and builds patched, without a new one. So it is followed by a
digest of everything that decides what a package does when it is run again: languages, packages, library, engine.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import vetro

#: Packages of the program whose text decides it.
PARTS = ("yaql", "muranopl", "packages", "library", "engine")
#: The one of which everything does: its classes, manifests and templates are MuranoPL, not Python.
_WHOLE = "library"


@functools.cache
def engine_version() -> str:
    """As ``0.1.0+3f9a1c04``: the version and 8 hex digits, the same on all machines with the same text."""
    return f"{vetro.__version__}+{code()}"


@functools.cache
def code() -> str:
    """`digest` of this program as it was on disk when this process asked first: workers do when they begin."""
    return digest(Path(vetro.__file__).parent)


def digest(root: Path) -> str:
    """8 hex digits of the names and texts of the files of `PARTS` below ``root``: those that are Python, of the library
    all but bytecode and hidden ones."""
    found = hashlib.blake2b(digest_size=4)
    for part in PARTS:
        for folder, names in sorted(_files(str(root / part), python=part != _WHOLE)):
            for name in sorted(names):
                with open(f"{folder}/{name}", "rb") as file:
                    text = file.read().replace(b"\r\n", b"\n")
                found.update(f"{folder[len(str(root)) + 1 :]}/{name}\0{len(text)}\0".encode())
                found.update(text)
    return found.hexdigest()


def _files(root: str, *, python: bool) -> Iterator[tuple[str, list[str]]]:
    """Folders and the names of what counts in each. Every process that runs tasks asks: `pathlib` takes three times as
    long."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield folder, [name for name in names if not name.startswith(".") and (name.endswith(".py") or not python)]
