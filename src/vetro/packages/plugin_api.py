"""What extension plug-ins may use of the engine: a small, stable interface (PACKAGES 6).

An extension is an ordinary Python class, exported under the entry point group ``io.murano.extensions``. Its methods get
plain data (numbers, texts, lists, mappings) and `MuranoObject`s, and return the same. Parameters named ``context``,
``this``, ``interfaces`` and ``yaql_engine`` are filled in by the engine:

* ``context``: a `Context`, the run and the code that calls;
* ``this``: the `MuranoObject` whose method is called;
* ``interfaces``: `Interfaces`, short ways to what plug-ins often need;
* ``yaql_engine``: compiles expressions: ``yaql_engine("$.a + 1")({"a": 1})``.

The class runs in the task process: no network, no files, and the same code runs again when a task is continued after
the death of its process. What has to reach the outside world is a function declared with `effect`: plain data in and
out, performed by the effects host, journalled, and not repeated when the answer is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vetro.packages.plugin_effects import EffectFunction, Policy, effect
from vetro.packages.plugin_run import Context, Interfaces, MuranoObject
from vetro.yaql.api import compile as yaql_engine

__all__ = ["Context", "EffectFunction", "Interfaces", "MuranoObject", "Policy", "effect", "expose", "yaql_engine"]

F = TypeVar("F", bound=Callable[..., Any])


def expose(*names: str) -> Callable[[F], F]:
    """Gives a method of an extension class these MuranoPL names in place of its own in camelCase."""
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise TypeError("expose() needs the MuranoPL names of the method: @expose('listAll')")

    def mark(function: F) -> F:
        function.__murano_names__ = names  # type: ignore[attr-defined]
        return function

    return mark
