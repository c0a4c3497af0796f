"""YAQL, the expression language of MuranoPL, usable alone.

>>> from vetro.yaql import compile
>>> compile("$.where($.age > $limit).name")([{"name": "Ann", "age": 40}], limit=30)
['Ann']

`compile` gives an `Expression` to call with data; `evaluate` is the short form. What can go wrong is in
`vetro.yaql.errors`, limits are set with `Limits`, conversions with `Options`. Names are loaded when first used: who
needs an error of this package does not load the language.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vetro.yaql.api import Expression as Expression
    from vetro.yaql.api import compile as compile
    from vetro.yaql.api import evaluate as evaluate
    from vetro.yaql.api import named_dialect as named_dialect
    from vetro.yaql.context import CodeContext as CodeContext
    from vetro.yaql.context import Dialect as Dialect
    from vetro.yaql.context import Execution as Execution
    from vetro.yaql.context import Limits as Limits
    from vetro.yaql.convert import Options as Options
    from vetro.yaql.environment import Env as Env
    from vetro.yaql.errors import VetroError as VetroError
    from vetro.yaql.errors import YaqlError as YaqlError

_HOMES = {
    **dict.fromkeys(("Expression", "compile", "evaluate", "named_dialect"), "api"),
    **dict.fromkeys(("CodeContext", "Dialect", "Execution", "Limits"), "context"),
    "Options": "convert",
    "Env": "environment",
    **dict.fromkeys(("VetroError", "YaqlError"), "errors"),
}

__all__ = [
    "CodeContext",
    "Dialect",
    "Env",
    "Execution",
    "Expression",
    "Limits",
    "Options",
    "VetroError",
    "YaqlError",
    "compile",
    "evaluate",
    "named_dialect",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found
