"""The function library of the expression language, by topic (YAQL.md sections 4 and 5).

`standard_table` is what every dialect has; `legacy_table` is the layer of the old dialect over it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from vetro.yaql.closures import scopes
from vetro.yaql.resolve import operator_table
from vetro.yaql.resolve.signature import FunctionTable

_STANDARD = (
    "branching",
    "characters",
    "combining",
    "common",
    "datetime_parts",
    "datetimes",
    "dicts",
    "folding",
    "formatting",
    "generating",
    "lists",
    "math",
    "merging",
    "ordering",
    "queries",
    "regexes",
    "searching",
    "sets",
    "strings",
    "system",
)


@cache
def standard_table() -> FunctionTable:
    """All functions of the standard dialect, built once. Do not add to it: make a table with it as parent."""
    table = FunctionTable()
    for name in _STANDARD:
        table.add_module(import_module(f"vetro.yaql.library.{name}"))
    operator_table.register(table)
    scopes.register(table)
    return table


@cache
def legacy_table() -> FunctionTable:
    """The functions of the legacy dialect, a layer over the standard ones that hides `#indexer` and `switch`."""
    table = FunctionTable(parent=standard_table(), exclusive={"#indexer", "switch"})
    table.add_module(import_module("vetro.yaql.library.legacy"))
    scopes.register(table, legacy=True)
    return table
