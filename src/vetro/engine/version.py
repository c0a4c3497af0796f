"""Which program runs a task. What one began, only the same one goes on with (DESIGN "Dispatch").

A version number is not enough: checkouts are updated, and builds patched, without a new one. So it is followed by a
digest of everything that decides what a package does when it is run again: languages, packages, library, engine.
"""

from __future__ import annotations

import functools
import hashlib
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
        for path in sorted((root / part).rglob("*" if part == _WHOLE else "*.py")):
            if path.parent.name == "__pycache__" or path.name.startswith(".") or not path.is_file():
                continue
            text = path.read_bytes().replace(b"\r\n", b"\n")
            found.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode())
            found.update(text)
    return found.hexdigest()
