"""Finds the name somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

#: Names longer than this are compared no further: a hint is not worth the time.
_LONGEST = 64


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The name in ``known`` closest to ``name``, None if none is close.

    Differences of case alone count as closest. Otherwise a third of the letters, and three at most, may have been
    changed, left out, added or swapped with their neighbour. Of equally close names the alphabetically first one is
    taken, so that the answer does not depend on the order of ``known``; ``name`` itself is no suggestion.
    """
    if not name or len(name) > _LONGEST:
        return None
    allowed = min(3, max(1, len(name) // 3))
    folded = name.casefold()
    best: tuple[int, str] | None = None
    for candidate in known:
        if candidate == name or abs(len(candidate) - len(name)) > allowed:
            continue
        distance = 0 if candidate.casefold() == folded else edit_distance(folded, candidate.casefold(), allowed)
        # A name that shares no letter is never meant, however short.
        if distance <= allowed and distance < len(name) and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return None if best is None else best[1]


def edit_distance(left: str, right: str, limit: int) -> int:
    """How many letters to change, drop, add or swap with their neighbour to get ``right`` from ``left``.

    Any number greater than ``limit`` means: more than ``limit``.
    """
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (char != other))
            swapped = row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other
            if swapped:
                cost = min(cost, before_last[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before_last, last = last, current
    return last[-1]
