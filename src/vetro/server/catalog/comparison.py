"""`sort_out`: which of somebody's packages a catalog has, has with other content, or lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.server.caller import Caller
from vetro.server.catalog.service import visible

_AT_ONCE = 400


def sort_out(caller: Caller, items: Sequence[Mapping[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """``items``: {fqn, version, digest}; the same under ``missing``, ``different`` and ``present``.

    What the project itself has counts before what is public: that is what an import would meet.
    """
    names = sorted({item["fqn"] for item in items})
    there: dict[tuple[str, str], set[str]] = {}
    for start in range(0, len(names), _AT_ONCE):
        rows = visible(caller, everything=False).filter(fqn__in=names[start : start + _AT_ONCE])
        for fqn, version, digest in rows.values_list("fqn", "version", "digest"):
            there.setdefault((fqn, version), set()).add(digest)
    answer: dict[str, list[dict[str, Any]]] = {"missing": [], "different": [], "present": []}
    for item in items:
        digests = there.get((item["fqn"], item["version"]))
        where = "missing" if digests is None else "present" if item["digest"].lower() in digests else "different"
        answer[where].append(dict(item))
    return answer
