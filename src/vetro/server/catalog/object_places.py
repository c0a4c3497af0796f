"""In which properties of a class objects stand, as the classes of packages say. They are only read, nothing of them
runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from vetro.muranopl.tools.definitions import Places, ValueSlot, places_of
from vetro.server.cache import RecentCache
from vetro.server.catalog.secret_names import engine_of
from vetro.server.errors import ServiceError
from vetro.yaql.errors import VetroError

#: Places that are remembered, all together: how many a class has is up to its package.
_MOST = 200_000


def places_in(digests: Iterable[str]) -> Places:
    """The places of objects in classes, among packages with these digests.

    What it gives raises `Unavailable` while packages cannot be read.
    """
    known = tuple(sorted(set(digests)))
    engine = cache(lambda: engine_of(known))

    def read(type_text: str) -> Mapping[str, ValueSlot]:
        linked = engine()
        try:
            return places_of(linked, type_text)
        except VetroError:  # there is no such class
            return {}

    def places(type_text: str) -> Mapping[str, ValueSlot]:
        if not type_text:
            return {}
        try:
            return _found.get((type_text, known), lambda: read(type_text))
        except ServiceError:
            raise
        except VetroError:  # a package is gone for good, or damaged; it may be mended
            return {}

    return places


def _count(places: Mapping[str, ValueSlot]) -> int:
    count, left = 1, list(places.values())
    while left:
        place = left.pop()
        count += 1
        left += [inner for inner in (*place.items, *place.entries.values(), place.rest) if inner is not None]
    return count


_found = RecentCache(4096, _MOST, _count)
