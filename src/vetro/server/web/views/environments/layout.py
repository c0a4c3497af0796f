"""`placed`: where the objects of a picture stand: owners above what they own, wide families in rows.

Computed here, not in the browser, so that the same model always looks the same and a thousand objects cost
milliseconds. A family is a block: the owner on top, the blocks of its children below, in rows about as wide as the
block is high.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt

#: Room of one object.
WIDTH, HEIGHT = 190.0, 96.0
#: How much wider than high a block is to be.
_ASPECT = 1.7
#: So many blocks stand in one row, whatever their shape: lines to a second row would cross them.
_FEW = 6

Point = tuple[float, float]


def placed(owners: Iterable[tuple[str, str | None]]) -> dict[str, Point]:
    """Id -> (x, y) of its centre, for (id, id of the owner or None) in any order. An owner that is not there counts as
    none."""
    pairs = list(owners)
    known = {own for own, _ in pairs}
    children: dict[str | None, list[str]] = {}
    for own, owner in pairs:
        children.setdefault(owner if owner in known and owner != own else None, []).append(own)
    sizes: dict[str, Point] = {}
    offsets: dict[str, Point] = {}
    for own in reversed(_owners_first(children)):
        below, width, height = _rows([(child, *sizes[child]) for child in children.get(own, ())])
        sizes[own] = max(width, WIDTH), HEIGHT + height
        for child, (x, y) in below.items():
            offsets[child] = x + (sizes[own][0] - width) / 2, y + HEIGHT
    below, _width, _height = _rows([(child, *sizes[child]) for child in children.get(None, ())])
    offsets.update(below)
    corners: dict[str, Point] = {}
    points: dict[str, Point] = {}
    of = {child: owner for owner, family in children.items() for child in family}
    for own in _owners_first(children):
        x, y = offsets[own]
        base = corners.get(of[own] or "", (0.0, 0.0))
        corners[own] = base[0] + x, base[1] + y
        points[own] = round(corners[own][0] + sizes[own][0] / 2, 1), round(corners[own][1] + HEIGHT / 2, 1)
    return points


def _owners_first(children: Mapping[str | None, list[str]]) -> list[str]:
    order: list[str] = []
    stack = list(reversed(children.get(None, [])))
    while stack:
        own = stack.pop()
        order.append(own)
        stack.extend(reversed(children.get(own, [])))
    return order


def _rows(blocks: list[tuple[str, float, float]]) -> tuple[dict[str, Point], float, float]:
    """Places blocks (id, width, height) in rows: left upper corners, and the width and height of all of them."""
    if not blocks:
        return {}, 0.0, 0.0
    if len(blocks) <= _FEW:
        limit = sum(width for _, width, _ in blocks)
    else:
        limit = _wide(blocks)
    found: dict[str, Point] = {}
    x = y = row = widest = 0.0
    for own, width, height in blocks:
        if x and x + width > limit:
            x, y, row = 0.0, y + row, 0.0
        found[own] = x, y
        x, row = x + width, max(row, height)
        widest = max(widest, x)
    return found, widest, y + row


def _wide(blocks: list[tuple[str, float, float]]) -> float:
    area = sum(width * height for _, width, height in blocks)
    return max(max(width for _, width, _ in blocks), sqrt(area * _ASPECT))
