"""The declarations of packages in the code cache: one entry for all classes of a package.

A file costs an open, a read and a signature to be checked; a package has hundreds of classes. So what was read is
gathered, and written when the session ends or its packages are compiled.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from vetro.muranopl.code_cache import CodeCache, cache_key, key_of_file
from vetro.muranopl.declarations import storage
from vetro.muranopl.declarations.tree import SourceFile

#: Class name, or slash and file where that is the same for all its classes (once, or a file of a hundred classes would
#: be there a hundred times) -> (digest of the file, what `storage.encode` made of it).
Entry = dict[str, tuple[str, bytes]]


class DeclarationCache:
    """What one session has of the entries in ``cache``."""

    def __init__(self, cache: CodeCache) -> None:
        self._cache = cache
        #: By `id`, which is quicker than name and version; each keeps its package.
        self._packages: dict[int, _Package] = {}

    def source(self, package: Any, name: str, file: str, digest: str, read: Callable[[], SourceFile]) -> SourceFile:
        """The declarations of the file with class ``name``; ``read`` reads the file, where that is needed."""
        kept = self._packages.get(id(package))
        if kept is None:
            kept = self._packages[id(package)] = _Package(self._cache, package)
        return kept.source(name, file, digest, read)

    def store(self) -> None:
        """Puts what is new into the cache."""
        for kept in self._packages.values():
            kept.store(self._cache)


class _Package:
    """The entry of one package."""

    __slots__ = ("_decoded", "_entry", "_key", "_news", "_package")

    def __init__(self, cache: CodeCache, package: Any) -> None:
        self._package = package
        self._key = _key(package)
        data = cache.get(self._key)
        self._entry: Entry = {} if data is None else marshal.loads(data)
        self._decoded: dict[tuple[str, str], SourceFile] = {}
        self._news = False

    def source(self, name: str, file: str, digest: str, read: Callable[[], SourceFile]) -> SourceFile:
        shared = f"/{file}"
        for place in (shared, name):
            if (known := self._decoded.get((place, digest))) is not None:
                return known
            stored = self._entry.get(place)
            if stored is not None and stored[0] == digest:
                known = self._decoded[place, digest] = storage.decode(marshal.loads(stored[1]), file, digest, read)
                return known
        known = read()
        place = name if known.nameless else shared
        self._entry[place] = digest, marshal.dumps(storage.encode(known))
        self._news = True
        self._decoded[place, digest] = known
        return known

    def store(self, cache: CodeCache) -> None:
        if self._news:
            classes = self._package.classes
            there = {*classes, *(f"/{file}" for file in classes.values()), *(place for place, _ in self._decoded)}
            cache.put(self._key, marshal.dumps({p: kept for p, kept in self._entry.items() if p in there}))
            self._news = False


def _key(package: Any) -> str:
    """Key of a package's entry. Its first file stands for the place: who stores what others read looks at that."""
    version = str(package.version), str(tuple(package.format)[:2])
    return key_of_file(
        min(package.classes.values()), cache_key(f"declarations {storage.VERSION}", package.name, *version)
    )
