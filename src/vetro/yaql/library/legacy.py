"""The legacy dialect's own functions (YAQL.md section 5), a layer over the standard ones.

In the legacy grammar ``=>`` is an operator that builds lists of two, and nothing takes keyword arguments. In the
standard grammar the functions here that take such pairs get them from mapping rules (`arguments.PAIR_TAKERS`).
Mappings count as collections of their keys (the types see to that).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library import combining, common, dicts, folding, lists, queries, strings
from vetro.yaql.library._support import ENTRY, SLOT, Items, Lambda, endless, freeze_all, frozen, key_of, varargs, walk
from vetro.yaql.resolve.signature import Overload, Param, Type, function
from vetro.yaql.values import FDict, is_sequence

_TUPLES = varargs("args", Type.SEQ)
_START = Param("start", Type.INT)
_STOP = Param("stop", Type.INT, default=None)


@function("#operator_=>", params=(Param("left"), Param("right")))
def arrow(cx: CodeContext, left: Any, right: Any) -> tuple[Any, ...]:
    """``left => right``: a list of the two. (A chain of arrows is one list; the evaluator sees to that.)"""
    return freeze_all(cx, (left, right))


@function("tuple", params=(varargs("args"),))
def make_tuple(cx: CodeContext, *args: Any) -> tuple[Any, ...]:
    """A list of the arguments."""
    cx.rt.check_memory(SLOT * len(args))
    return freeze_all(cx, args)


@function("dict", style="FM", params=(_TUPLES,))
def make_dict(cx: CodeContext, *args: Any) -> FDict:
    """The mapping of the pairs; what follows the first two parts of one is ignored. Raises `NoItems` for short ones.

    A single list of lists is a list of pairs: no list can be a key, so it cannot be meant as a pair itself.
    """
    if len(args) == 1 and args[0] and all(is_sequence(item) for item in args[0]):
        args = tuple(args[0])
    cx.rt.check_memory(ENTRY * len(args))
    pairs = [dicts.first_two(item) for item in args]
    return FDict((key_of(cx, key), frozen(cx, value)) for key, value in pairs)


@function("#map", params=(_TUPLES,))
def make_map(cx: CodeContext, *args: Any) -> FDict:
    """``{pairs}``: as ``dict``."""
    return make_dict(cx, *args)


@function("#indexer", params=(Param("collection", Type.ITER), Param("predicate", Type.LAMBDA, arity=None)))
def index(cx: CodeContext, collection: Items, predicate: Lambda) -> Any:
    """An item of a list, or the items for which the expression holds, lazily.

    For a list the expression is evaluated with the outer ``$`` first: an integer is an index (raises IndexError when
    there is no such item). Otherwise ``$`` is the item; of a mapping the keys are filtered.
    """
    if is_sequence(collection):
        position = predicate()
        if isinstance(position, int) and not isinstance(position, bool):
            return collection[position]  # type: ignore[index]
    return filter(predicate, walk(cx, collection))


@function("range", style="FM", params=(_START, _STOP))
def range_(cx: CodeContext, start: int, stop: int | None = None) -> Any:
    """The integers from ``start``: without end, or as a list up to ``stop``, which is left out."""
    if stop is None:
        return endless(cx, itertools.count(start))
    found = range(start, stop)
    cx.rt.check_items(max(0, stop - start))
    cx.rt.charge(len(found) >> 4)
    return found


@function("switch", style="FM", params=(Param("value"), varargs("args", Type.LAMBDA)))
def switch(value: Any, *args: Lambda) -> Any:
    """The result of the first ``condition => result`` whose condition holds for ``$`` = value; null when none does.

    Raises ValueError for an argument that is no pair.
    """
    for case in args:
        pair = case(value)
        if pair.__class__ is not tuple or len(pair) != 2:
            raise ValueError("switch() needs condition => result pairs")
        if pair[0]:
            return pair[1]
    return None


def _in_style(impl: Callable[..., Any], style: str) -> list[Overload]:
    """The overloads of a standard function, usable as function ('F') or method ('M') here."""
    return [Overload(o.name, o.impl, o.params, style, o.needs_cx, o.doc) for o in getattr(impl, "__yaql__", ())]


class _BothStyles:
    """Carries the overloads, as `FunctionTable.add_module` looks for them."""

    __yaql__: tuple[Overload, ...] = ()


#: Standard methods that are functions here as well, and functions that are methods.
_BothStyles.__yaql__ = tuple(
    overload
    for style, implementations in (
        ("F", (dicts.get, queries.select, queries.where, queries.take_while, combining.join, folding.sum_)),
        ("F", (strings.join_items, strings.join_separator)),
        ("M", (lists.to_a_list, common.to_bool, common.to_int, common.to_float)),
    )
    for implementation in implementations
    for overload in _in_style(implementation, style)
    if overload.name not in ("filter", "map")
)
