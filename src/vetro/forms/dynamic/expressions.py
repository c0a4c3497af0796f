"""Expressions of a definition and values that contain them (DYNAMIC_UI 2, 3).

A value of a definition is a *snippet*: a frozen plain value, an `Expression`, or a list or mapping with snippets
inside. `evaluate` gives a frozen plain value for it. Expressions have YAQL's standard grammar over its legacy library;
what they see is an `Env` that `vetro.forms.dynamic.evaluation` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache, lru_cache
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic import functions
from vetro.forms.dynamic.errors import DynamicFormError, ExpressionFailed, TemplateLoop
from vetro.muranopl.declarations.tree import Position
from vetro.yaql import ast
from vetro.yaql.api import grammar_of
from vetro.yaql.closures.nodes import build
from vetro.yaql.context import Dialect, Limits
from vetro.yaql.environment import Env
from vetro.yaql.errors import LimitExceeded, Stop, VetroError
from vetro.yaql.library import legacy_table
from vetro.yaql.parser import parse
from vetro.yaql.resolve.signature import FunctionTable
from vetro.yaql.values import FROZEN, SCALARS, FDict, freeze

#: What one showing or checking of a form may use. Items and bytes are those of DYNAMIC_UI 2.
LIMITS = Limits(
    max_sequence=10_000,
    max_expression_memory=1_000_000,
    max_output=200_000,
    max_steps=2_000_000,
    max_integer_bits=4_096,
)
#: Characters of expressions that are kept compiled.
_LONGEST_KEPT = 500


@cache
def plain_dialect() -> Dialect:
    """The dialect of validators of single fields: the library alone."""
    return Dialect(name="ui", table=legacy_table(), legacy=True, iterable_dicts=True)


@cache
def form_dialect() -> Dialect:
    """The dialect of all other places: with the functions of forms."""
    table = FunctionTable(parent=legacy_table(), exclusive={"repeat", "name", "ref"})
    table.add_module(functions)
    return Dialect(name="ui-forms", table=table, legacy=True, iterable_dicts=True)


def parsed(text: str) -> ast.Node:
    """The syntax tree of ``text``; those of short texts are kept, as the same ones recur in every package.

    Raises `ParsingError`.
    """
    return _parsed(text) if len(text) <= _LONGEST_KEPT else parse(text, grammar_of(plain_dialect()))


@lru_cache(maxsize=8192)
def _parsed(text: str) -> ast.Node:
    return parse(text, grammar_of(plain_dialect()))


def _built(text: str, node: ast.Node, dialect: Dialect) -> Callable[[Env], Any]:
    return _kept_run(text, dialect) if len(text) <= _LONGEST_KEPT else build(node, dialect)


@lru_cache(maxsize=8192)
def _kept_run(text: str, dialect: Dialect) -> Callable[[Env], Any]:
    return build(_parsed(text), dialect)


def forget() -> None:
    """Drops all expressions that are kept, for measurements."""
    _parsed.cache_clear()
    _kept_run.cache_clear()


class Expression:
    """A scalar that is an expression, with its place in the file."""

    __slots__ = ("_comparing", "_form", "_plain", "node", "position", "text")

    def __init__(self, text: str, node: ast.Node, position: Position) -> None:
        self.text = text
        self.node = node
        self.position = position
        self._form: Callable[[Env], Any] | None = None
        self._plain: Callable[[Env], Any] | None = None
        #: The same with templates that are compared, made when their names are first known.
        self._comparing: Callable[[Env], Any] | None = None

    def __repr__(self) -> str:
        return f"<Expression {self.text!r}>"

    @property
    def uses_data(self) -> bool:
        """Whether it names any variable, ``$`` included."""
        return "$" in self.text

    def evaluate(self, env: Env) -> Any:
        """Its value, frozen. Raises `ExpressionFailed` and what functions of forms raise."""
        try:
            templates = env.cx.data["forms"].compared if "=" in self.text and env.cx.data else ()
            if templates:
                run = self._comparing
                if run is None:
                    run = self._comparing = build(_comparing(self.node, frozenset(templates)), form_dialect())
            elif env.cx.dialect is form_dialect():
                run = self._form
                if run is None:
                    run = self._form = _built(self.text, self.node, form_dialect())
            else:
                run = self._plain
                if run is None:
                    run = self._plain = _built(self.text, self.node, plain_dialect())
            value = run(env)
            if value.__class__ in SCALARS or value.__class__ is FDict:
                return value
            value = freeze(value, env.cx.rt.limits.max_sequence)
            if value.__class__ in FROZEN:
                return value
            raise ExpressionFailed(
                Text("'{short}' gives a {name}, which no form can hold", short=self.short, name=type(value).__name__),
                position=self.position,
            )
        except DynamicFormError:
            raise
        except RecursionError:
            raise TemplateLoop(
                Text("'{short}' is nested too deep to evaluate", short=self.short),
                position=self.position,
                hint=Text("look for templates that contain each other"),
            ) from None
        except (Exception, Stop) as error:
            message = error.message if isinstance(error, VetroError) else str(error) or type(error).__name__
            raise ExpressionFailed(
                Text("'{short}' cannot be evaluated: {message}", short=self.short, message=message),
                position=self.position,
                hint=_hint(self, error) or getattr(error, "hint", None),
            ) from None

    @property
    def short(self) -> str:
        """The text, cut for messages."""
        return self.text if len(self.text) <= 80 else self.text[:80] + "…"


def _hint(expression: Expression, error: BaseException) -> str | None:
    if isinstance(error, (Stop, LimitExceeded)):
        items, size = LIMITS.max_sequence, LIMITS.max_expression_memory
        return Text("forms may use {items:,} items, {size:,} bytes and a second or two", items=items, size=size)
    if not expression.uses_data and "(" not in expression.text:
        return Text("quote it if it is text")
    if getattr(error, "attribute", None) is not None:
        return Text(
            "what is left of the dot is null: the form has not been filled in yet, or there is none of that name"
        )
    return None


#: In front of the name of a template: its text as it stands, with expressions that equal only themselves.
UNEVALUATED = "="


def _comparing(node: ast.Node, templates: frozenset[str]) -> ast.Node:
    """The tree with the templates, or their parts, that ``=`` and ``!=`` compare left as they stand (DYNAMIC_UI 8)."""
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Node):
            changed[field.name] = _comparing(value, templates)
        elif isinstance(value, tuple):
            changed[field.name] = tuple(_comparing(v, templates) if isinstance(v, ast.Node) else v for v in value)
    if isinstance(node, ast.Binary) and node.op in ("=", "!="):
        changed = {
            **changed,
            "left": _as_it_stands(node.left, templates),
            "right": _as_it_stands(node.right, templates),
        }
    return replace(node, **changed)


def _as_it_stands(node: ast.Node, templates: frozenset[str]) -> ast.Node:
    if isinstance(node, ast.Variable) and node.name in templates:
        return replace(node, name=UNEVALUATED + node.name)
    if isinstance(node, ast.Attribute):
        return replace(node, receiver=_as_it_stands(node.receiver, templates))
    return _comparing(node, templates)


def unevaluated(snippet: Any) -> Any:
    """A snippet as a value whose expressions are values, too."""
    if isinstance(snippet, MapSnippet):
        return FDict({unevaluated(key): unevaluated(value) for key, value in snippet.pairs})
    return tuple(map(unevaluated, snippet.items)) if isinstance(snippet, ListSnippet) else snippet


class MapSnippet:
    """A mapping with expressions inside; of equal keys the last wins."""

    __slots__ = ("pairs", "position")

    def __init__(self, pairs: list[tuple[Any, Any]], position: Position) -> None:
        self.pairs = pairs
        self.position = position


class ListSnippet:
    """A list with expressions inside."""

    __slots__ = ("items", "position")

    def __init__(self, items: list[Any], position: Position) -> None:
        self.items = items
        self.position = position


DYNAMIC = frozenset({Expression, MapSnippet, ListSnippet})


def is_dynamic(snippet: Any) -> bool:
    """Whether there is an expression in it."""
    return snippet.__class__ in DYNAMIC


def evaluate(snippet: Any, env: Env) -> Any:
    """The frozen value of a snippet, in document order. Raises as `Expression.evaluate` does."""
    cls = snippet.__class__
    if cls is Expression:
        return snippet.evaluate(env)
    if cls is MapSnippet:
        made: dict[Any, Any] = {}
        for key, value in snippet.pairs:
            if key.__class__ is Expression:
                found = key.evaluate(env)
                if found.__class__ not in SCALARS:
                    raise ExpressionFailed(
                        Text("'{short}' gives a list or mapping as a key", short=key.short), position=key.position
                    )
                key = found
            made[key] = evaluate(value, env) if value.__class__ in DYNAMIC else value
        return FDict(made)
    if cls is ListSnippet:
        return tuple([evaluate(item, env) if item.__class__ in DYNAMIC else item for item in snippet.items])
    return snippet


def expressions_in(snippet: Any) -> Iterator[Expression]:
    """The expressions of a snippet, in document order."""
    stack = [snippet]
    while stack:
        found = stack.pop()
        cls = found.__class__
        if cls is Expression:
            yield found
        elif cls is ListSnippet:
            stack.extend(reversed(found.items))
        elif cls is MapSnippet:
            stack.extend(side for pair in reversed(found.pairs) for side in reversed(pair))
