"""What the catalog can be narrowed by: categories and tags with how many applications are behind each.

Counting looks at every package, so it is kept for a moment; what changes through this process counts at once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from itertools import islice

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from vetro.data_classes import dataclass
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package

#: Seconds for which counts are kept, tags that are offered, projects whose counts are kept.
_SECONDS, _TAGS, _MOST = 30.0, 20, 500
#: Ways to write a tag.
_WAYS = 20
#: Rows that are read together.
_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Facets:
    """(name, applications) by name, and the most frequent tags by frequency."""

    categories: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, int], ...]
    #: Tag in lower case -> all ways in which packages write it: case does not tell tags apart.
    spellings: Mapping[str, tuple[str, ...]]
    #: Whether there is any application at all.
    anything: bool


_lock = threading.Lock()
_kept: dict[str, tuple[float, Facets]] = {}


def of(caller: Caller) -> Facets:
    """Those of the caller's catalog."""
    now = time.monotonic()
    with _lock:
        until, found = _kept.get(caller.project_id, (0.0, None))
    if found is not None and until > now:
        return found
    found = _count(caller.project_id)
    if found.anything:  # an empty catalog is about to be filled, by whatever process
        with _lock:
            if len(_kept) >= _MOST:
                _kept.clear()
            _kept[caller.project_id] = (now + _SECONDS, found)
    return found


def forget(project_id: str) -> None:
    """Counts a project's packages anew the next time."""
    with _lock:
        _kept.pop(project_id, None)


def _count(project_id: str) -> Facets:
    """One walk over the rows: the database would join and sort them for each list.

    Lists of names are taken as the texts that the database holds, and many are read at once: that takes a third.
    """
    rows = Package.objects.filter(
        Q(is_public=True) | Q(project_id=project_id), enabled=True, type="Application", embedded=False
    ).values_list("fqn", Cast("category_names", TextField()), Cast("tag_names", TextField()))
    behind: tuple[dict[str, set[str]], dict[str, set[str]]] = ({}, {})
    anything = False
    walk = rows.iterator(chunk_size=_AT_ONCE)
    while part := list(islice(walk, _AT_ONCE)):
        anything = True
        fqns, *columns = zip(*part, strict=True)
        for texts, found in zip(columns, behind, strict=True):
            for fqn, names in zip(fqns, json.loads(f"[{','.join(texts)}]"), strict=True):
                for name in names:
                    found.setdefault(name, set()).add(fqn)
    categories = [(name, len(fqns)) for name, fqns in behind[0].items()]
    spellings: dict[str, list[str]] = {}
    for name in behind[1]:
        spellings.setdefault(name.lower(), []).append(name)
    tags = []
    for same in spellings.values():
        same.sort(key=lambda name: (-len(behind[1][name]), name))  # the usual way first
        tags.append((same[0], len(set().union(*(behind[1][name] for name in same)))))
    tags.sort(key=lambda item: (-item[1], item[0]))
    told = {name: tuple(same[:_WAYS]) for name, same in spellings.items()}
    return Facets(tuple(sorted(categories)), tuple(tags[:_TAGS]), told, anything)
