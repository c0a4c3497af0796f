"""What MuranoPL adds to the YAQL library, as function tables per package format (SEMANTICS 3.10, 16.1).

table = murano_table("1.4")                 # formats '1.0' (and 1.1), '1.2' (and 1.3), '1.4'
table = murano_table("1.4", core=True)      # with config(), for the code of the core library
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from vetro.muranopl.functions import calls, data, legacy, objects, text, types
from vetro.muranopl.functions.types import CAST, PSUPER, SUPER, SUPER_MAP, TYPE_PARAMS
from vetro.yaql.library import legacy_table, standard_table
from vetro.yaql.resolve.signature import FunctionTable, Overload, Param

_FORMATS = {"1.0": "1.0", "1.1": "1.0", "1.2": "1.2", "1.3": "1.2", "1.4": "1.4"}


def _overload(name: str, implementation: Callable[..., Any], params: tuple[Param, ...], style: str) -> Overload:
    doc = inspect.cleandoc(implementation.__doc__ or "")
    needs_cx = next(iter(inspect.signature(implementation).parameters), "") == "cx"
    return Overload(name, implementation, params, style, needs_cx, doc)


@cache
def murano_table(format: str, *, core: bool = False) -> FunctionTable:
    """The functions that code of a package of this format sees. Raises `ValueError` for an unknown format.

    ``core`` adds what only the core library may use.
    """
    level = _FORMATS.get(format)
    if level is None:
        raise ValueError(f"unknown package format {format!r}")
    if core:
        table = FunctionTable(parent=murano_table(format))
        table.add(_overload("config", calls.config, calls.CONFIG_PARAMS, "F"))
        return table
    old = level == "1.0"
    table = FunctionTable(parent=_old_base() if old else standard_table())
    for module in (types, objects, text, data, calls):
        table.add_module(module)
    style = "FM" if old else "F"
    table.add(
        _overload("type", types.type_of_object if level == "1.4" else types.type_name_of_object, TYPE_PARAMS, style)
    )
    table.add(_overload("id", objects.object_id, objects.ID_PARAMS, style))
    for name, (implementation, params) in (("cast", CAST), ("super", SUPER), ("super", SUPER_MAP), ("psuper", PSUPER)):
        table.add(_overload(name, implementation, params, style))
    if old:
        legacy.add_function_forms(table)
    return table


def _old_base() -> FunctionTable:
    """The legacy library with the additions of formats 1.0 and 1.1, below MuranoPL's own functions."""
    table = FunctionTable(parent=legacy_table())
    table.add_module(legacy)
    return table
