"""Distributions as an installer leaves them, in a folder: what entry points find when the folder is on the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vetro.clouds import kinds


def install(site: Path, name: str, points: str, modules: Mapping[str, str] | None = None) -> None:
    """Version 1.0 of a distribution with these entry points and modules (name -> text)."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    for module, text in (modules or {}).items():
        (site / f"{module}.py").write_text(text)


@contextmanager
def broken_kind(site: Path) -> Iterator[str]:
    """A distribution whose kind of clouds, ``sun``, cannot be loaded; what is said of it."""
    install(site, "vetro-sun", "[vetro.clouds]\nsun = vetro_sun:KIND\n")
    sys.path.insert(0, str(site))
    kinds._registered.cache_clear()
    try:
        yield "clouds of kind 'sun' cannot be loaded from vetro-sun: No module named 'vetro_sun'"
    finally:
        sys.path.remove(str(site))
        kinds._registered.cache_clear()
