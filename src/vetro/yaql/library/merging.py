"""``mergeWith``: one mapping laid over another, all the way down (YAQL.md 4.4)."""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import ENTRY, Lambda, frozen, frozen_tuple
from vetro.yaql.library.queries import distinct
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.types import describe
from vetro.yaql.values import FDict, is_sequence


@function(
    "mergeWith",
    style="M",
    params=(
        Param("dict", Type.DICT),
        Param("another", Type.DICT),
        Param("listMerger", Type.LAMBDA, default=None, arity=2),
        Param("itemMerger", Type.LAMBDA, default=None, arity=2),
        Param("maxLevels", Type.INT, default=0),
    ),
)
def merge_with(
    cx: CodeContext,
    dict: Any,
    another: Any,
    list_merger: Lambda | None = None,
    item_merger: Lambda | None = None,
    max_levels: int = 0,
) -> FDict:
    """A new mapping of the entries of both.

    Where both have a key: mappings are merged in turn; a list is merged with a list by ``listMerger`` (default: the
    different items of both); anything else goes to ``itemMerger`` (default: the right one wins). From level
    ``maxLevels`` on (the top is 1, 0 means no limit) every clash goes to ``itemMerger``.

    Raises TypeError for a mapping or list on the right against something else on the left.
    """
    return _Merge(cx, list_merger, item_merger, max_levels).merge(dict, another, 1)


class _Merge:
    def __init__(
        self, cx: CodeContext, list_merger: Lambda | None, item_merger: Lambda | None, max_levels: int
    ) -> None:
        self.cx = cx
        self.list_merger = list_merger
        self.item_merger = item_merger
        self.max_levels = max_levels

    def merge(self, left: Any, right: Any, level: int) -> FDict:
        self.cx.rt.check_memory(ENTRY * (len(left) + len(right)))
        self.cx.rt.charge(len(left) + len(right))
        result = dict(left)
        for key, value in right.items():
            result[key] = self.clash(key, left[key], value, level) if key in left else value
        return FDict(result)

    def clash(self, key: Any, left: Any, right: Any, level: int) -> Any:
        if level != self.max_levels:
            if isinstance(right, dict):
                if not isinstance(left, dict):
                    raise TypeError(f"mergeWith() cannot merge a dict into {describe(left)} at key {key!r:.80}")
                return self.merge(left, right, level + 1)
            if is_sequence(right):
                if not is_sequence(left):
                    raise TypeError(f"mergeWith() cannot merge a list into {describe(left)} at key {key!r:.80}")
                if self.list_merger is None:
                    return frozen_tuple(self.cx, distinct(self.cx, (*left, *right)))
                return frozen(self.cx, self.list_merger(left, right))
        return right if self.item_merger is None else frozen(self.cx, self.item_merger(left, right))
