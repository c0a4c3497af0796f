"""Plans by marshallable description: what a ``plan`` link says."""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import Dialect
from vetro.yaql.errors import YaqlError
from vetro.yaql.resolve.candidates import candidates
from vetro.yaql.resolve.dispatchers import Plan, dispatcher
from vetro.yaql.resolve.shape import KNOWN, Shape


def plan_for(
    dialect: Dialect,
    name: str,
    style: str,
    positional: int,
    keywords: tuple[str, ...],
    literals: tuple[tuple[int, Any], ...],
    kinds: tuple[tuple[int, str], ...] = (),
) -> Plan:
    """The plan of a call shape; ``literals`` holds (argument number, value) of literal arguments.

    ``kinds`` holds (argument number, kind) of arguments whose class the compiler knows: the plan need not test them,
    and must not be used for others.
    """
    known = (*literals, *((number, KNOWN[kind]) for number, kind in kinds))
    return dispatcher(dialect.table, dialect, name, style, positional, keywords, known)


def narrowed(
    dialect: Dialect,
    plan: Plan,
    shape: tuple[str, str, int, tuple[str, ...], tuple[tuple[int, Any], ...]],
    kinds: tuple[tuple[int, str], ...],
) -> bool:
    """Whether calls of ``shape``, served by ``plan``, may use a plan for these ``kinds`` of arguments.

    Knowing classes early must not change what the call means: nothing that failed or was evaluated lazily may do
    otherwise.
    """
    name, style, positional, keywords, literals = shape
    classes: list[type | None] = [None] * (positional + len(keywords))
    for number, value in (*literals, *((number, KNOWN[kind]) for number, kind in kinds)):
        classes[number] = value.__class__
    try:
        found = candidates(dialect.table, dialect, name, style, Shape(positional, keywords, tuple(classes)))
    except YaqlError:
        return False
    return found.lazy == plan.lazy and not plan.rules
