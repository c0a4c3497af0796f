"""`BaseEmitter`: one method a kind of node, from YAQL tree to Python tree; `Emitter` adds operators and calls.

Kinds of values (`Code.kind`) known at compile time: ``int str bool null float`` (exactly that class), ``tuple map``
(frozen containers), ``regex``, ``scalar`` (any scalar class), ``frozen`` (anything but an iterator), ``self`` (the
receiver object), ``lazy`` (an iterator of ours), ``any``. The emitter may be wrong only towards ``any``.
"""

from __future__ import annotations

import ast as py
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.yaql import ast
from vetro.yaql.codegen import pyast as b
from vetro.yaql.context import Dialect
from vetro.yaql.resolve.signature import Kind

FROZEN_KINDS = frozenset({"int", "str", "bool", "null", "float", "scalar", "tuple", "map", "regex", "frozen", "self"})
SCALAR_KINDS = frozenset({"int", "str", "bool", "null", "float", "scalar"})


@dataclass(slots=True)
class Code:
    """A Python expression and what is known about its value."""

    node: py.expr
    kind: str = "any"

    @property
    def frozen(self) -> bool:
        """No freezing is needed at a statement end."""
        return self.kind in FROZEN_KINDS

    @property
    def simple(self) -> bool:
        """May be repeated: a name or a literal."""
        return isinstance(self.node, (py.Name, py.Constant))


@dataclass(frozen=True, slots=True)
class Scope:
    """Which Python name holds which variable here, with its kind. ``1`` is ``$``."""

    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: Expression for variables that are not in `names`; None: unknown variables are null.
    fallback: Callable[[str], py.expr] | None = None

    def child(self, arity: int, kinds: tuple[str, ...] = ()) -> tuple[Scope, list[str]]:
        """A scope in which ``$1``..``$arity`` are new, and their Python names."""
        params = [f"d{i + 1}" for i in range(arity)]
        names = dict(self.names)
        for i, param in enumerate(params):
            names[str(i + 1)] = (param, kinds[i] if i < len(kinds) else "any")
        return Scope(names, self.fallback), params


class Unsupported(Exception):
    """The node is left to the closure tier."""


class BaseEmitter:
    """Emits expressions of one piece of code (a method, a contract, an expression).

    ``links`` collects what the generated global names stand for. Host languages subclass it and override the hooks at
    the end.
    """

    #: Leave every expression to the closure tier (the oracle of the compiled one).
    closures_only = False

    def __init__(
        self, dialect: Dialect, text: str = "", locate: Callable[[ast.Span], tuple[int, ...]] | None = None
    ) -> None:
        self.dialect = dialect
        self.text = text
        self.locate = locate
        self.links: dict[str, tuple[Any, ...]] = {}
        self._link_names: dict[str, str] = {}
        self._temps = 0

    # -- names ---------------------------------------------------------------------------------------------------------

    def temp(self) -> str:
        """A fresh Python local."""
        self._temps += 1
        return f"t{self._temps}"

    def link(self, prefix: str, *spec: Any) -> str:
        """The global name under which ``spec`` will be bound."""
        key = repr(spec)  # literals hold containers, and 1, 1.0 and true must stay apart
        known = self._link_names.get(key)
        if known is None:
            known = f"{prefix}{len(self.links)}"
            self.links[known] = spec
            self._link_names[key] = known
        return known

    def bind_once(self, code: Code) -> tuple[py.expr, Code]:
        """(expression to evaluate first, code that may be repeated afterwards)."""
        if code.simple:
            return code.node, code
        temp = self.temp()
        return b.walrus(temp, code.node), Code(b.name(temp), code.kind)

    # -- entry ---------------------------------------------------------------------------------------------------------

    def emit(self, node: ast.Node, scope: Scope) -> Code:
        """Python code that computes ``node``."""
        handler = getattr(self, "emit_" + type(node).__name__, None)
        try:
            if handler is None or (self.closures_only and not isinstance(node, (ast.Constant, ast.Variable))):
                raise Unsupported
            code: Code = handler(node, scope)
        except Unsupported:
            code = self.closure_site(node, scope)
        self._place(code.node, node)
        return code

    def frozen(self, node: ast.Node, scope: Scope) -> Code:
        """Like `emit`, with the value frozen."""
        return self.freeze(self.emit(node, scope))

    def freeze(self, code: Code) -> Code:
        """``code`` with its value frozen; free of charge where it cannot be lazy."""
        if code.frozen:
            return code
        node = code.node
        if isinstance(node, py.GeneratorExp) and code.kind == "lazy":
            return Code(_listed(node), "tuple")
        if isinstance(node, py.IfExp) and getattr(node, "settled", False):
            body = _listed(node.body) if isinstance(node.body, py.GeneratorExp) else node.body
            made = b.ternary(node.test, body, self.freeze(Code(node.orelse)).node)
            return Code(py.copy_location(made, node), "frozen")
        return Code(py.copy_location(b.call("_freeze", b.name("rt"), code.node), code.node), "frozen")

    def _place(self, made: py.AST, node: ast.Node) -> None:
        """Gives position to every generated node that has none yet."""
        if self.locate is None:
            return
        line, column, end_line, end_column = self.locate(node.span)
        b.place(made, line, column, end_line, end_column)

    def closure_site(
        self, node: ast.Node, scope: Scope, hole: ast.Node | None = None, filling: py.expr | None = None
    ) -> Code:
        """A call of the closure tier for ``node``.

        With a ``hole``, that sub-expression is not evaluated again: its value is what ``filling`` gives.
        """
        site = self.link("_c", "closure", self.text, self.index_of(node), self.index_of(hole) if hole else -1)
        used = {n.name for n in ast.walk(node) if isinstance(n, ast.Variable)} | {"1", "this"}
        keys: list[py.expr | None] = []
        values: list[py.expr] = []
        for variable in sorted(used):
            code = self.variable(variable, scope)
            if code.kind != "null":
                keys.append(b.const(variable))
                values.append(code.node)
        if filling is not None:
            keys.append(b.const("#hole"))
            values.append(filling)
        return Code(b.call(site, b.name("cx"), py.Dict(keys, values)))

    def index_of(self, node: ast.Node) -> int:
        """Position of ``node`` in the pre-order walk of the current expression."""
        for index, candidate in enumerate(ast.walk(self.root)):
            if candidate is node:
                return index
        raise AssertionError("node is not part of the expression")

    root: ast.Node

    def begin(self, root: ast.Node, text: str, locate: Callable[[ast.Span], tuple[int, ...]] | None) -> None:
        """Starts a new expression (closure sites name nodes by their place in it)."""
        self.root = root
        self.text = text
        self.locate = locate

    # -- leaves --------------------------------------------------------------------------------------------------------

    def emit_Constant(self, node: ast.Constant, scope: Scope) -> Code:
        value = node.value
        return Code(b.const(value), "null" if value is None else type(value).__name__)

    def variable(self, name: str, scope: Scope) -> Code:
        """The value of ``$name``."""
        known = scope.names.get(name)
        if known is not None:
            return Code(b.name(known[0]), known[1])
        if scope.fallback is not None:
            return Code(scope.fallback(name), "any")
        return Code(b.const(None), "null")

    def emit_Variable(self, node: ast.Variable, scope: Scope) -> Code:
        return self.variable(node.name, scope)

    def emit_ListDisplay(self, node: ast.ListDisplay, scope: Scope) -> Code:
        if any(isinstance(a, (ast.Pair, ast.Empty)) for a in node.args):
            raise Unsupported
        return Code(py.Tuple([self.frozen(a, scope).node for a in node.args], b.LOAD), "tuple")

    def emit_MapDisplay(self, node: ast.MapDisplay, scope: Scope) -> Code:
        return self.mapping(node.args, scope)

    def mapping(self, args: tuple[ast.Node, ...], scope: Scope) -> Code:
        """``{k => v, …}`` from pairs."""
        keys: list[py.expr | None] = []
        values: list[py.expr] = []
        for arg in args:
            if not isinstance(arg, ast.Pair):
                raise Unsupported
            key = self.frozen(arg.key, scope)
            keys.append(key.node if key.kind in SCALAR_KINDS else b.call("_key", key.node))
            values.append(self.frozen(arg.value, scope).node)
        return Code(b.call("_FD", py.Dict(keys, values)), "map")

    # -- access --------------------------------------------------------------------------------------------------------

    def emit_Attribute(self, node: ast.Attribute, scope: Scope) -> Code:
        receiver = self.emit(node.receiver, scope)
        if node.safe:
            first, value = self.bind_once(receiver)
            inner = self.attribute(value, node.name)
            return Code(b.ternary(b.is_null(first), b.const(None), inner.node), "any")
        return self.attribute(receiver, node.name)

    def attribute(self, receiver: Code, name: str) -> Code:
        """``receiver.name`` for a receiver of unknown class, with the mapping case in line."""
        if self.dialect.legacy or receiver.kind in SCALAR_KINDS or isinstance(receiver.node, (py.Tuple, py.Constant)):
            return Code(b.call("_attribute", b.name("cx"), receiver.node, b.const(name)))
        first, value = self.bind_once(receiver)
        slow = b.call("_attribute", b.name("cx"), value.node, b.const(name))
        return Code(b.settled(b.is_class(first, "_FD"), b.item(value.node, b.const(name)), slow))

    def emit_Index(self, node: ast.Index, scope: Scope) -> Code:
        if self.dialect.legacy or len(node.args) != 1 or isinstance(node.args[0], (ast.Pair, ast.Empty)):
            raise Unsupported
        receiver = self.emit(node.receiver, scope)
        index = self.emit(node.args[0], scope)
        # Neither a ternary nor a guard may change the order of evaluation: receiver first, then index.
        if receiver.kind in SCALAR_KINDS or isinstance(receiver.node, (py.Tuple, py.Constant)):
            return Code(b.call("_index", b.name("cx"), receiver.node, index.node))
        if index.kind == "int" and index.simple:
            first, value = self.bind_once(receiver)
            slow = b.call("_index", b.name("cx"), value.node, index.node)
            return Code(b.settled(b.is_class(first, "tuple"), b.item(value.node, index.node), slow))
        if index.kind == "str" and index.simple:
            first, value = self.bind_once(receiver)
            slow = b.call("_index", b.name("cx"), value.node, index.node)
            return Code(b.settled(b.is_class(first, "_FD"), b.item(value.node, index.node), slow))
        return Code(b.call("_index", b.name("cx"), receiver.node, index.node))

    # -- lambdas -------------------------------------------------------------------------------------------------------

    def lambda_(
        self, node: ast.Node, scope: Scope, arity: int, kinds: tuple[str, ...] = (), batch: bool = False
    ) -> py.expr:
        """A Python callable for a lazily evaluated argument; with ``batch`` one for many items at once.

        Variables of the method are captured by value (as defaults): they cannot change before the statement ends, and
        the method keeps fast locals.
        """
        inner, params = scope.child(arity, kinds)
        body = self.emit(node, inner).node
        used = b.names_in(body)
        bound = set(params)
        captured = sorted({n for n, _ in scope.names.values() if n in used and n not in bound})
        captured += sorted(
            n for n in used if n[0] == "t" and n[1:].isdigit() and n not in captured and not _assigned(body, n)
        )
        if not batch:
            return py.Lambda(b.arguments(params, captured), body)
        items = py.ListComp(body, [py.comprehension(b.target(params[0]), b.name("all_"), [], 0)])
        return b.call("_batch", py.Lambda(b.arguments(["all_"], captured), items), b.const(_only_reads(node)))

    # -- hooks for host languages --------------------------------------------------------------------------------------

    def host_method(self, node: ast.MethodCall, scope: Scope) -> Code | None:
        """Code for a method call that the host resolves at compile time; None: not this one."""
        return None

    def host_call(self, node: ast.Call, scope: Scope) -> Code | None:
        """Code for a function call that the host resolves at compile time."""
        return None

    def has_extension(self, name: str) -> bool:
        """Whether an extension method of this name is visible."""
        return False

    @property
    def hosted(self) -> bool:
        """Whether receivers may be host objects (false in plain YAQL)."""
        return False


def _listed(node: py.GeneratorExp) -> py.expr:
    """The list of what a generator gives."""
    made = py.copy_location(py.ListComp(node.elt, node.generators), node)
    return py.copy_location(b.call("_tuple_of", b.name("rt"), made), node)


def _only_reads(node: ast.Node) -> bool:
    """Whether evaluating ``node`` once more does nothing but read values again."""
    return all(isinstance(n, (ast.Attribute, ast.Variable, ast.Constant)) for n in ast.walk(node))


def _assigned(body: py.AST, name: str) -> bool:
    return any(
        isinstance(n, py.NamedExpr) and isinstance(n.target, py.Name) and n.target.id == name for n in py.walk(body)
    )


def has_rules(overloads: list[list[Any]]) -> bool:
    """Whether pairs are mapping rules for these overloads."""
    return any(p.kind is Kind.RULES for layer in overloads for o in layer for p in o.params)


def all_builtin(overloads: list[list[Any]]) -> bool:
    """Whether only the library defines these overloads: a host may have put functions of the same name beside them."""
    return all((o.impl.__module__ or "").startswith("vetro.yaql.library.") for layer in overloads for o in layer)
