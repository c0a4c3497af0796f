"""Plans by marshallable description: what a ``plan`` link says."""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import Dialect
from vetro.yaql.dispatch import Plan, dispatcher


def plan_for(
    dialect: Dialect,
    name: str,
    style: str,
    positional: int,
    keywords: tuple[str, ...],
    literals: tuple[tuple[int, Any], ...],
) -> Plan:
    """The plan of a call shape; ``literals`` holds (argument number, value) of literal arguments."""
    return dispatcher(dialect.table, dialect, name, style, positional, keywords, literals)
