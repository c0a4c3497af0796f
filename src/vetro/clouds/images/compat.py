"""Transitional packages: old names that only depend on today's, in a local folder that apt installs from."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from vetro.clouds.drivers.tools import run

_CONTROL = """\
Package: {name}
Version: 99:1.0-vetro1
Architecture: all
Maintainer: Vetro <vetro@localhost>
Section: oldlibs
Priority: optional
Depends: {depends}
Description: transitional package for old application packages
 Installs what took the place of {name}.
"""


def build_packages(folder: Path, names: Mapping[str, str]) -> None:
    """Writes a package for each name and the index files that apt reads into ``folder``. Raises `HostFailed`."""
    folder.mkdir(parents=True, exist_ok=True)
    index: list[str] = []
    for name, depends in sorted(names.items()):
        control = _CONTROL.format(name=name, depends=depends)
        file = folder / f"{name}_1.0-vetro1_all.deb"
        with tempfile.TemporaryDirectory() as work:
            tree = Path(work, "tree")
            (tree / "DEBIAN").mkdir(parents=True)
            tree.chmod(0o755)
            (tree / "DEBIAN/control").write_text(control, "utf-8")
            run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(tree), str(file)])
        data = file.read_bytes()
        facts = f"Filename: ./{file.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
        head, _, description = control.partition("Description:")
        index.append(f"{head}{facts}Description:{description}")
    text = "\n".join(index).encode()
    (folder / "Packages").write_bytes(text)
    (folder / "Packages.gz").write_bytes(gzip.compress(text, mtime=0))
