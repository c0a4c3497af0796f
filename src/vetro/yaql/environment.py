"""Variables at run time: what an expression sees besides its functions.

An `Env` is one scope. Lookups walk outwards through ``parent``; an unknown variable is null (YAQL.md 3.1). The results
of ``let``, ``with``, ``def``, ``unpack`` and ``as`` are such scopes, handed on by ``->``.
"""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.resolve.signature import FunctionTable


class Env:
    """One scope of variables.

    ``vars`` maps names without the dollar (``$`` is ``1``) to values. ``cx`` is the context of the code. ``funcs`` is
    the innermost layer of functions made by ``def`` in this scope or one around it, None where there is none: call
    sites test it once to know that what they resolved statically still holds.
    """

    __slots__ = ("cx", "funcs", "parent", "vars")

    def __init__(
        self, vars: dict[str, Any], parent: Env | None, cx: CodeContext, funcs: FunctionTable | None = None
    ) -> None:
        self.vars = vars
        self.parent = parent
        self.cx = cx
        self.funcs = funcs

    def get(self, name: str) -> Any:
        """The value of ``$name`` seen from here; None where nobody set it."""
        env: Env | None = self
        while env is not None:
            if name in env.vars:
                return env.vars[name]
            env = env.parent
        return None

    def child(self, variables: dict[str, Any]) -> Env:
        """A scope inside this one in which ``variables`` are set."""
        return Env(variables, self, self.cx, self.funcs)

    def __repr__(self) -> str:
        return f"<context {', '.join('$' + name for name in self.vars)}>" if self.vars else "<context>"
