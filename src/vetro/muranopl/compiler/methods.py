"""Method bodies: argument contracts, instructions and blocks as Python statements (SEMANTICS 7 and 9).

``$x`` is the Python local ``v_x``; blocks open no scope, as in MuranoPL. Branches of `Parallel` are nested functions
that share the method's variables.
"""

from __future__ import annotations

import ast as py
from typing import TYPE_CHECKING, Any

from vetro.muranopl.compiler.blocks import BlockMixin
from vetro.muranopl.compiler.contracts import ContractCompiler, _at
from vetro.muranopl.compiler.emitter import MuranoEmitter, contract_kind
from vetro.muranopl.compiler.inference import infer_kinds
from vetro.muranopl.compiler.links import synchronization
from vetro.muranopl.compiler.targets import TargetMixin
from vetro.muranopl.compiler.unit import Unit
from vetro.muranopl.compiler.variables import assigned_variables, traced, walk_instructions
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.runtime.locks import SAVED
from vetro.yaql.codegen import Code, Scope
from vetro.yaql.codegen import pyast as b
from vetro.yaql.values import FDict, FSet, thaw

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass


def method_unit(decl: d.MethodDecl, owner: LinkedClass) -> Unit:
    """A unit defining the method's function."""
    compiler = MethodCompiler(owner, decl)
    function = compiler.function()
    return Unit(function, compiler.em.links)


def default_unit(template: Any, owner: LinkedClass) -> Unit:
    """A unit defining ``default(self)``."""
    emitter = MuranoEmitter(owner, static=False)
    compiler = Statements(emitter)
    scope = Scope({"1": ("self", "self"), "this": ("self", "self")})
    result = py.Return(compiler.template(template, scope).node)
    function = py.FunctionDef("default", b.arguments(["self"]), [result], [])
    _place(function, template.position)
    return Unit(function, emitter.links)


def _place(node: py.AST, position: d.Position) -> None:
    node.lineno, node.col_offset = position.line, max(position.column - 1, 0)  # type: ignore[attr-defined]
    node.end_lineno, node.end_col_offset = node.lineno, node.col_offset  # type: ignore[attr-defined]


class Statements:
    """Values written in YAML, and placing of statements."""

    def __init__(self, emitter: MuranoEmitter) -> None:
        self.em = emitter
        self._names = 0

    def fresh(self, prefix: str) -> str:
        """A Python local that nothing else uses."""
        self._names += 1
        return f"{prefix}{self._names}"

    def template(self, template: d.Template, scope: Scope) -> Code:
        """Code for a value; the result is frozen."""
        if isinstance(template, d.Expression):
            self.em.start(template)
            return self.em.frozen(template.node, scope)
        if isinstance(template, d.Literal):
            return self.literal(template.value)
        if isinstance(template, d.ListTemplate):
            return Code(py.Tuple([self.template(i, scope).node for i in template.items], b.LOAD), "tuple")
        keys: list[py.expr | None] = []
        values: list[py.expr] = []
        for key, value in template.pairs:
            made = self.template(key, scope)
            keys.append(made.node if isinstance(made.node, py.Constant) else b.call("_key", made.node))
            values.append(self.template(value, scope).node)
        return Code(b.call("_FD", py.Dict(keys, values)), "map")

    def literal(self, value: Any) -> Code:
        """A constant; containers are built once when the code is bound."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return Code(b.const(value), "null" if value is None else type(value).__name__)
        if value == () and isinstance(value, tuple):
            return Code(py.Tuple([], b.LOAD), "tuple")
        kind = "map" if isinstance(value, FDict) else "frozen" if isinstance(value, FSet) else "tuple"
        return Code(b.name(self.em.link("_l", "literal", thaw(value))), kind)


class MethodCompiler(BlockMixin, TargetMixin, Statements):
    """Compiles one method."""

    def __init__(self, owner: LinkedClass, decl: d.MethodDecl) -> None:
        super().__init__(MuranoEmitter(owner, static=decl.static))
        self.owner = owner
        self.decl = decl
        self.arguments = [a.name for a in decl.arguments]
        self.locals = assigned_variables(decl.body)
        names: dict[str, tuple[str, str]] = {"1": ("self", "self"), "this": ("self", "self")}
        kinds = {a.name: self._argument_kind(a) for a in decl.arguments}
        for variable in [*self.arguments, *self.locals]:
            names[variable] = ("v_" + variable, kinds.get(variable, "frozen"))
        self.scope = infer_kinds(self, Scope(names), decl, kinds)
        self.loops = 0
        self.branch = False
        self.handling: str | None = None

    def needs_trace(self, variable: str) -> bool:
        """Whether code of this method can see the stack trace of the exception in ``$variable``."""
        return _uses_rethrow(self.decl.body) or traced(self.decl.body, variable)

    def _argument_kind(self, argument: d.ArgumentDecl) -> str:
        if argument.usage is d.ArgumentUsage.VAR_ARGS:
            return "tuple"
        if argument.usage is d.ArgumentUsage.KW_ARGS:
            return "map"
        return contract_kind(argument.contract)

    # -- the function --------------------------------------------------------------------------------------------------

    def function(self) -> py.FunctionDef:
        """``def name(self, v_a=…, *v_rest, **v_options)``."""
        decl = self.decl
        entry, prologue = self._entry(), self._prologue()
        if synchronization(self.owner, decl)[1]:  # the lock depends on arguments as their contracts leave them
            body: list[py.stmt] = [*prologue, self._lock_values(), *entry]
        else:
            body = [*entry, *prologue]
        fresh = [v for v in self.locals if v not in self.arguments]
        if fresh:
            body.append(py.Assign([b.target("v_" + v) for v in fresh], b.const(None)))
        if _uses_rethrow(decl.body):
            self.handling = "x_current"
            body.append(b.assign("x_current", b.const(None)))
        for statement in body:
            _spread(statement, decl.position)
        body.extend(self.block(decl.body, self.scope))
        name = decl.name if decl.name.isidentifier() else decl.name.strip(".") or "method"
        function = py.FunctionDef(name, self._parameters(), body, [])
        _place(function, decl.position)
        return function

    def _lock_values(self) -> py.stmt:
        """Keeps the values a lock depends on: the method may assign to its arguments."""
        names = synchronization(self.owner, self.decl)[1]
        values: list[py.expr] = [b.name("v_" + n) if n in self.arguments else b.const(None) for n in names]
        return b.assign(SAVED, py.Tuple(values, b.LOAD))

    def _entry(self) -> list[py.stmt]:
        on_this, args = synchronization(self.owner, self.decl)
        key = self.em.link("_lock", "lock", self.decl.name, on_this, args)
        left = py.BinOp(b.attr(b.name("rt"), "steps"), py.Sub(), b.const(1))
        return [
            py.Assign([b.target("s_"), py.Attribute(b.name("rt"), "steps", b.STORE)], left),
            py.If(
                py.Compare(b.name("s_"), [py.Lt()], [b.const(0)]),
                [py.Expr(b.call(b.attr(b.name("rt"), "slow"), b.name("self"), b.name(key)))],
                [],
            ),
        ]

    def _parameters(self) -> py.arguments:
        made = b.arguments(["self"])
        for argument in self.decl.arguments:
            name = "v_" + argument.name
            if argument.usage is d.ArgumentUsage.VAR_ARGS:
                made.vararg = py.arg(name)
            elif argument.usage is d.ArgumentUsage.KW_ARGS:
                made.kwarg = py.arg(name)
            else:
                made.args.append(py.arg(name))
                made.defaults.append(self._python_default(argument))
        return made

    def _python_default(self, argument: d.ArgumentDecl) -> py.expr:
        default = argument.default
        if isinstance(default, d._NoDefault):
            return b.const(None)
        if isinstance(default, d.Literal):
            return self.literal(default.value).node
        return b.name("_M")

    def _prologue(self) -> list[py.stmt]:
        """Defaults and contracts of the arguments; violations are located at the argument."""
        checks: list[py.stmt] = []
        contracts = ContractCompiler(self.em, strict=False, argument=True)
        for argument in self.decl.arguments:
            v = "v_" + argument.name
            step: list[py.stmt] = []
            if argument.usage is d.ArgumentUsage.VAR_ARGS:
                step = self._each(contracts, argument, v)
            elif argument.usage is d.ArgumentUsage.KW_ARGS:
                step = self._each_named(contracts, argument, v)
            else:
                if not isinstance(argument.default, (d._NoDefault, d.Literal)):
                    receiver = Scope({"1": ("self", "self"), "this": ("self", "self")})
                    value = self.template(argument.default, receiver)
                    test = py.Compare(b.name(v), [py.Is()], [b.name("_M")])
                    step.append(py.If(test, [b.assign(v, value.node)], []))
                step.extend(s for s in contracts.emit(argument.contract, v) if not isinstance(s, py.Pass))
            if step:
                checks += _named(b.assign("a_", b.const(argument.name)), step)
        if not checks:
            return []
        place = f"{self.owner.name}::{self.decl.name}("
        raised = py.Raise(b.call("_located", b.name("x_"), b.const(place), b.name("a_")), None)
        handler = py.ExceptHandler(b.name("_CV"), "x_", [raised])
        return [py.Try(checks, [handler], [], [])]

    def _each(self, contracts: ContractCompiler, argument: d.ArgumentDecl, v: str) -> list[py.stmt]:
        e, o = contracts.fresh("e"), contracts.fresh("o")
        body = [*contracts.emit(argument.contract, e), py.Expr(b.call(b.attr(b.name(o), "append"), b.name(e)))]
        return [
            b.assign(o, py.List([], b.LOAD)),
            py.For(b.target(e), b.name(v), body, []),
            b.assign(v, b.call("tuple", b.name(o))),
        ]

    def _each_named(self, contracts: ContractCompiler, argument: d.ArgumentDecl, v: str) -> list[py.stmt]:
        k, e, r = contracts.fresh("k"), contracts.fresh("e"), contracts.fresh("r")
        plain = py.Subscript(b.name(k), py.Slice(b.const(2), None, None), b.LOAD)
        body = [*contracts.emit(argument.contract, e), py.Assign([py.Subscript(b.name(r), plain, b.STORE)], b.name(e))]
        pairs = b.call(b.attr(b.name(v), "items"))
        return [
            b.assign(r, py.Dict([], [])),
            py.For(py.Tuple([b.target(k), b.target(e)], b.STORE), pairs, body, []),
            b.assign(v, b.call("_FD", b.name(r))),
        ]


def _uses_rethrow(block: d.Block) -> bool:
    return any(isinstance(i, d.Rethrow) for i in walk_instructions(block))


def _named(naming: py.stmt, step: list[py.stmt]) -> list[py.stmt]:
    """``step`` with ``naming`` before anything in it that may fail: of a lone test of a class, in its branch."""
    match step:
        case [py.If(test=py.Compare(left=py.Attribute(attr="__class__"), comparators=[py.Name()]), orelse=[]) as only]:
            only.body.insert(0, naming)
            return step
    return [naming, *step]


def _spread(node: py.AST, position: d.Position) -> None:
    _at(node, position.line, position.column)
