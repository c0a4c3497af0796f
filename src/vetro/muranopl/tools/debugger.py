"""pdb at home with MuranoPL: breakpoints in files of archives, and steps that skip the engine's own code.

Before Python 3.13 breakpoints in the YAML files of a directory need nothing, nor do those in files of archives once
their class was used under the debugger. For the rest pdb has to be told, at its prompt, in `.pdbrc` or on its command
line::

    python -m pdb -c "import vetro.muranopl.tools.debugger as m; m.enable()" program.py
"""

from __future__ import annotations

import bdb
import linecache
import os
import sys
import zipfile
from typing import Any

#: Modules in which ``step`` does not stop.
SKIPPED = ("vetro.yaql.*", "vetro.muranopl.*", "vetro.packages.*", "vetro.library.*")


def enable(debugger: Any = None) -> None:
    """Extends ``debugger``, by default the one that is tracing now. Raises `RuntimeError` when there is none."""
    if debugger is None:
        debugger = getattr(sys.gettrace(), "__self__", None)
    if not isinstance(debugger, bdb.Bdb):
        raise RuntimeError("no debugger is running; call enable() at the prompt of pdb, or from .pdbrc")
    debugger.skip = {*(debugger.skip or ()), *SKIPPED}
    usual = getattr(debugger, "lookupmodule", None)
    if usual is not None:

        def lookupmodule(filename: str) -> str | None:
            found: str | None = archived(filename) or _there(filename) or usual(filename)
            return found

        debugger.lookupmodule = lookupmodule  # type: ignore[attr-defined]


def _there(filename: str) -> str | None:
    """The full name of a file that is none of Python's: since 3.13 pdb takes such a name for that of a module."""
    full = os.path.abspath(os.path.expanduser(filename))
    return full if not full.endswith(".py") and os.path.isfile(full) else None


def archived(filename: str) -> str | None:
    """The full name of a file inside of a ZIP archive, known to `linecache` from now on; None if it is none."""
    full = os.path.abspath(os.path.expanduser(filename))
    if os.path.exists(full):
        return None
    archive = os.path.dirname(full)
    while not os.path.isfile(archive):
        above = os.path.dirname(archive)
        if above == archive:
            return None
        archive = above
    member = os.path.relpath(full, archive).replace(os.sep, "/")
    try:
        with zipfile.ZipFile(archive) as opened:
            text = opened.read(member).decode()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None
    remember(full, text)
    return full


def remember(filename: str, text: str) -> None:
    """Lets `linecache`, and so debuggers, know the text of a file that is not on disk."""
    # No time stamp: such entries are kept, the file system knows nothing of them.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
