"""YAQL, the expression language of MuranoPL, usable alone.

>>> from vetro.yaql import compile
>>> compile("$.where($.age > $limit).name")([{"name": "Ann", "age": 40}], limit=30)
['Ann']

`compile` gives an `Expression` to call with data; `evaluate` is the short form. What can go wrong is in
`vetro.yaql.errors`, limits are set with `Limits`, conversions with `Options`.
"""

from vetro.yaql.api import Expression, compile, evaluate, named_dialect
from vetro.yaql.context import CodeContext, Dialect, Execution, Limits
from vetro.yaql.convert import Options
from vetro.yaql.environment import Env
from vetro.yaql.errors import VetroError, YaqlError

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
