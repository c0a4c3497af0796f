"""Packs the guest agent into one executable file."""

from __future__ import annotations

import io
import os
import zipfile
from importlib import resources
from pathlib import Path

#: Name of the program in the server.
NAME = "muranoagent"
_INTERPRETER = b"#!/usr/bin/env python3\n"
_MAIN = f"import sys\n\nfrom {NAME}.main import main\n\nsys.exit(main())\n"


def agent_bytes() -> bytes:
    """The file's content: the same bytes for the same sources, wherever and whenever it is made."""
    sources = {"__main__.py": _MAIN.encode()}
    for item in resources.files("vetro.agent.guest").iterdir():
        if item.name.endswith(".py"):
            sources[f"{NAME}/{item.name}"] = item.read_bytes()
    data = io.BytesIO()
    data.write(_INTERPRETER)
    with zipfile.ZipFile(data, "a", zipfile.ZIP_STORED) as archive:  # compressed bytes differ between versions of zlib
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, sources[name])
    return data.getvalue()


def build_agent(path: Path) -> Path:
    """Writes the agent to ``path``, or as ``muranoagent`` into it when that is a folder, and returns the file.

    It is one executable file (mode 0755) that needs Python 3.9 or later and nothing else. A file that has this content
    already is left alone; another one is replaced at once, so that who runs it keeps the old one. Raises OSError.
    """
    target = path / NAME if path.is_dir() else path
    data = agent_bytes()
    try:
        if target.read_bytes() == data and os.access(target, os.X_OK):
            return target
    except OSError:
        pass
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        draft.write_bytes(data)
        draft.chmod(0o755)
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
    return target
