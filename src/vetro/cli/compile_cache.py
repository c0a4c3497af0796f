"""The compile cache of the command line: packages are compiled once, later commands load the result.

Lives in ``$VETRO_CACHE`` (``off``: no cache), else in ``vetro`` below the user's cache folder. Compiling runs no
package code; the sessions that do run it get the cache read-only (`vetro.muranopl.precompile`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vetro.library import core_packages
from vetro.muranopl.code_cache import CodeCache, cache_key
from vetro.muranopl.errors import MuranoError
from vetro.packages.cache import DiskCache


def cache_folder() -> Path | None:
    """Where compiled packages are kept; None when the cache is switched off."""
    chosen = os.environ.get("VETRO_CACHE")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "vetro"


def _mark(package: Any, version: int) -> str | None:
    """Key that says that exactly these class files were compiled; None when one cannot be read."""
    parts = [package.name, str(package.version), str(package.format)]
    try:
        for name in package.classes:
            text = package.read_class(name)
            parts += [name, text.file_id, text.digest]
    except MuranoError:
        return None
    return cache_key(f"package {version}", *parts)


def code_cache(packages: Iterable[Any]) -> CodeCache | None:
    """A read-only cache that holds the compiled ``packages`` and core library; None when there is no cache.

    A cache that cannot be used (no home, no space, a stranger's folder) is no error: everything is compiled again.
    """
    from vetro.muranopl.compiler.unit import COMPILER_VERSION

    folder = cache_folder()
    if folder is None:
        return None
    known = list(packages)
    core = core_packages()
    try:
        cache = DiskCache(folder, writable=True)
    except OSError:
        return None
    if cache.refused is not None:
        return None
    # What a package compiles to depends on the packages it extends: the mark names all that are at hand.
    marks = {id(p): _mark(p, COMPILER_VERSION) for p in [*core, *known]}
    everything = cache_key("set", *sorted(m for m in marks.values() if m is not None))
    stale = [p for p in core if _missing(cache, marks[id(p)])]
    if _missing(cache, everything):
        stale += known
    if stale:
        _compile(stale, known, cache)
        for mark in [*(marks[id(p)] for p in core), everything]:
            if mark is not None:
                cache.put(mark, b"compiled")
    return DiskCache(folder)


def _missing(cache: CodeCache, mark: str | None) -> bool:
    return mark is None or cache.get(mark) is None


def _compile(stale: list[Any], known: list[Any], cache: CodeCache) -> None:
    from vetro.muranopl.api import Engine
    from vetro.muranopl.precompile import precompile

    session = Engine(known, code_cache=cache).session()
    try:
        precompile(session, stale)
    finally:
        session.close()
