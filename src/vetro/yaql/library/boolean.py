"""Truth: ``bool`` and ``isBoolean`` (YAQL.md 4.2). The words ``and``, ``or``, ``not`` are operators."""

from __future__ import annotations

from typing import Any

from vetro.yaql.resolve.signature import Param, function


@function("bool", params=(Param("value"),))
def to_bool(value: Any) -> bool:
    """The truth value; any text but the empty one is true, ``'false'`` too."""
    return bool(value)


@function("isBoolean", params=(Param("value"),))
def is_boolean(value: Any) -> bool:
    """True for true and false only."""
    return isinstance(value, bool)
