"""Packages where task processes can read them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from vetro.packages.manifest import MURANOPL


def unpack(package: Any, target: Path) -> None:
    """The files of a package as the folder ``target``: plug-ins of other formats want one, and tasks make no files."""
    if target.is_dir():
        return
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=target.parent) as draft:
        for path in package.files.paths():
            file = Path(draft, "files", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(package.files.read(path))
        package.plugin.prepare(os.path.join(draft, "files"))
        os.rename(Path(draft, "files"), target)


def readable(package: Any, folder: Path) -> str:
    """The absolute path where a task finds a loaded package: where it is, or unpacked in ``folder``."""
    if package.manifest.format.name == MURANOPL:
        return os.path.abspath(str(package.location))
    target = folder / hashlib.sha256(package.blob).hexdigest()
    unpack(package, target)
    return str(target)
