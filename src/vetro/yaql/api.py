"""The expression language as a library: compile a text once, evaluate it with data as often as needed."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from vetro.yaql import ast
from vetro.yaql.closures import scopes
from vetro.yaql.closures.nodes import build
from vetro.yaql.context import CodeContext, Dialect, Execution, Limits
from vetro.yaql.convert import Options, to_plain
from vetro.yaql.environment import Env
from vetro.yaql.errors import NestingTooDeep
from vetro.yaql.parser import ParserDialect, parse
from vetro.yaql.resolve.signature import FunctionTable
from vetro.yaql.values import SCALARS, freeze

_DEFAULTS = Options()
_UNLIMITED = Limits()
_CHANCE = random.SystemRandom()
_NAMES = ("standard", "legacy")


@functools.cache
def named_dialect(
    name: str, *, grammar: str | None = None, delegates: bool = False, iterable_dicts: bool = False
) -> Dialect:
    """The dialect ``standard`` or ``legacy``: the function library of that name, and its grammar.

    ``grammar`` chooses the grammar apart from the library. Raises ValueError for other names.
    """
    from vetro.yaql.library import legacy_table, standard_table  # loaded when the first expression needs it

    if name not in _NAMES:
        raise ValueError(f"unknown dialect {name!r}: use 'standard', 'legacy' or a Dialect")
    if grammar is not None and grammar not in _NAMES:
        raise ValueError(f"unknown grammar {grammar!r}: use 'standard' or 'legacy'")
    if grammar == "legacy" and name != "legacy":
        raise ValueError("the legacy grammar needs the legacy library: its operator => is a function of that library")
    legacy = name == "legacy"
    table = legacy_table() if legacy else standard_table()
    if delegates:
        table = FunctionTable(parent=table)
        scopes.register(table, delegates=True)
    return Dialect(
        name=name,
        table=table,
        legacy=legacy,
        pair_operator=(grammar or name) == "legacy",
        iterable_dicts=iterable_dicts or legacy,
        delegates=delegates,
    )


def grammar_of(dialect: Dialect) -> ParserDialect:
    """What the parser has to know of a dialect."""
    return _grammar(dialect.pair_operator, any(op[0] == "is" for op in dialect.operators), dialect.delegates)


@functools.cache
def _grammar(legacy: bool, murano: bool, delegates: bool) -> ParserDialect:
    return ParserDialect(legacy=legacy, murano=murano, delegates=delegates)


def _limits(limits: Limits | None, options: Options) -> Limits:
    found = limits or _UNLIMITED
    changes: dict[str, Any] = {}
    if options.limit_iterators is not None:
        changes["max_sequence"] = None if options.limit_iterators < 0 else options.limit_iterators
    if options.memory_quota is not None:
        changes["max_expression_memory"] = None if options.memory_quota <= 0 else options.memory_quota
    return dataclasses.replace(found, **changes) if changes else found


class Expression:
    """A compiled expression. Calling it evaluates it and returns plain Python data.

    It holds no state of evaluations: threads may share it.
    """

    __slots__ = ("_run", "dialect", "limits", "node", "options", "text")

    def __init__(
        self,
        text: str,
        node: ast.Node,
        dialect: Dialect,
        limits: Limits,
        options: Options,
        run: Callable[[Env], Any],
    ) -> None:
        self.text = text
        self.node = node
        self.dialect = dialect
        self.limits = limits
        self.options = options
        self._run = run

    def __repr__(self) -> str:
        return f"<Expression {self.text!r}>"

    def __call__(self, data: Any = None, /, **variables: Any) -> Any:
        """The value for ``data`` as ``$`` and ``variables`` as ``$name``, converted to plain data (YAQL.md section 6).

        Raises `YaqlError` and its kin, `Stop` when a budget of the whole run is spent, and the exceptions of function
        bodies (KeyError, ValueError…) as they are.
        """
        return self.evaluate(data, context=variables or None, convert=self.options.convert_output_data)

    def evaluate(
        self,
        data: Any = None,
        *,
        context: Mapping[str, Any] | Env | None = None,
        convert: bool = False,
        execution: Execution | None = None,
    ) -> Any:
        """The value for ``data``, by default as the language has it: tuples, frozen mappings, lazy iterators.

        ``context`` gives variables by name, or is a scope to evaluate in (None as ``data`` then leaves its ``$``).
        ``execution`` brings budgets, clock and randomness; without it each evaluation has the full budgets.
        """
        if execution is None and self.limits.max_seconds is not None:
            from vetro.yaql.alarm import Alarm  # threads and ctypes: only where there is a limit

            with Alarm(self.limits.max_seconds):
                return self._evaluate(data, context, convert, Execution(self.limits, rng=_CHANCE))
        return self._evaluate(data, context, convert, execution or Execution(self.limits, rng=_CHANCE))

    def _evaluate(self, data: Any, context: Mapping[str, Any] | Env | None, convert: bool, rt: Execution) -> Any:
        freezing = self.options.convert_input_data
        try:
            if freezing:
                data = freeze(data, rt.limits.max_sequence)
            if isinstance(context, Env):
                env = context.child({} if data is None else {"1": data})
            else:
                values = {"1": data}
                for name, value in (context or {}).items():
                    values[name] = freeze(value, rt.limits.max_sequence) if freezing else value
                env = Env(values, None, CodeContext(rt, self.dialect))
            result = self._run(env)
            return to_plain(result, rt, self.options) if convert and result.__class__ not in SCALARS else result
        except RecursionError:
            raise NestingTooDeep("the expression or its data is nested too deep to evaluate") from None


def compile(
    text: str,
    *,
    dialect: str | Dialect = "standard",
    grammar: str | None = None,
    limits: Limits | None = None,
    tier: str = "auto",
    allow_delegates: bool = False,
    options: Options | None = None,
) -> Expression:
    """``text`` as an `Expression`.

    ``dialect`` is ``'standard'``, ``'legacy'`` (grammar and library of 0.2, YAQL.md section 5) or a `Dialect`, whose
    own flags then count. ``grammar`` chooses the grammar apart from the library: MuranoPL of formats 1.0 and 1.1 and
    UI definitions have ``dialect='legacy', grammar='standard'``. ``tier`` is ``'closure'`` (quick to build),
    ``'compiled'`` (Python code: quick to run) or ``'auto'``. ``allow_delegates`` adds ``lambda(...)`` and calls of
    values. Without ``options`` the legacy grammar keeps tuples, which its ``=>`` makes. Raises `LexicalError` and
    `GrammarError` with the position, `NestingTooDeep`, and ValueError for unknown names of dialects and tiers.
    """
    found = options or _DEFAULTS
    if isinstance(dialect, str):
        chosen = named_dialect(dialect, grammar=grammar, delegates=allow_delegates, iterable_dicts=found.iterable_dicts)
    else:
        chosen = dialect
    if chosen.pair_operator and options is None:
        found = dataclasses.replace(found, convert_tuples_to_lists=False, iterable_dicts=True)
    node = parse(text, grammar_of(chosen))
    try:
        run = _tier(tier)(node, chosen, text)
    except RecursionError:
        raise NestingTooDeep("the expression is nested too deep to compile") from None
    return Expression(text, node, chosen, _limits(limits, found), found, run)


def _closures(node: ast.Node, dialect: Dialect, text: str) -> Callable[[Env], Any]:
    return build(node, dialect)


def _compiled(node: ast.Node, dialect: Dialect, text: str) -> Callable[[Env], Any]:
    compiler = importlib.import_module("vetro.yaql.codegen")  # loaded only where it is wanted
    run: Callable[[Env], Any] = compiler.compile_expression(node, dialect, text)
    return run


def _tier(name: str) -> Callable[[ast.Node, Dialect, str], Callable[[Env], Any]]:
    if name in ("auto", "closure"):
        return _closures
    if name == "compiled":
        return _compiled
    raise ValueError(f"unknown tier {name!r}: use 'auto', 'closure' or 'compiled'")


@functools.lru_cache(maxsize=256)
def _compile_cached(text: str) -> Expression:
    return compile(text)


def evaluate(text: str, data: Any = None, /, **variables: Any) -> Any:
    """Compiles ``text`` in the standard dialect and evaluates it; recent texts are kept compiled."""
    return _compile_cached(text)(data, **variables)
