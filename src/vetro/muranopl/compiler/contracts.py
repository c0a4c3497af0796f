"""Contracts become straight-line Python checks (SEMANTICS 6).

A plain chain (``$.int().notNull().check($ > 0)``) is unrolled with exact-class fast paths; any other expression is
evaluated by the closure tier with the contract functions in scope. Paths of violations are added by ``except`` clauses,
which cost nothing until something fails.
"""

from __future__ import annotations

import ast as py
from itertools import zip_longest
from typing import TYPE_CHECKING

from vetro.muranopl.compiler.emitter import CONTRACT_KINDS, MuranoEmitter
from vetro.muranopl.compiler.unit import Unit
from vetro.muranopl.contracts.model import (
    Check,
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    Convert,
    NotNull,
    OfClass,
    Owner,
    Step,
    StepName,
)
from vetro.muranopl.expressions import Literal
from vetro.yaql import ast
from vetro.yaql.codegen import Code, Scope
from vetro.yaql.codegen import pyast as b
from vetro.yaql.values import thaw

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass


def contract_unit(contract: Contract, owner: LinkedClass, strict: bool, name: str) -> Unit:
    """A unit defining ``name(v, self)``."""
    emitter = MuranoEmitter(owner, static=False)
    compiler = ContractCompiler(emitter, strict)
    body = compiler.emit(contract, "v")
    body.append(py.Return(b.name("v")))
    function = py.FunctionDef(name, b.arguments(["v", "self"]), body, [])
    function.lineno, function.col_offset = contract.position.line, max(contract.position.column - 1, 0)
    function.end_lineno, function.end_col_offset = function.lineno, function.col_offset
    return Unit(function, emitter.links)


class ContractCompiler:
    """Emits statements that put the checked value of a Python local back into it."""

    def __init__(self, emitter: MuranoEmitter, strict: bool, this: str | None = "self", argument: bool = False) -> None:
        self.em = emitter
        self.strict = strict
        #: Objects that an argument's contract makes are unowned, those of a property belong to the receiver.
        self.argument = argument
        self.this = this
        self._names = 0

    def fresh(self, prefix: str) -> str:
        """A local that nothing else uses."""
        self._names += 1
        return f"{prefix}_{self._names}"

    def emit(self, contract: Contract, v: str) -> list[py.stmt]:
        """Statements for any contract node."""
        if isinstance(contract, ContractExpression):
            made = self.expression(contract, v)
        elif isinstance(contract, ContractList):
            made = self.list_(contract, v)
        elif isinstance(contract, ContractMap):
            made = self.map_(contract, v)
        else:
            made = self.literal(contract, v)
        for statement in made:
            _at(statement, contract.position.line, contract.position.column)
        return made

    # -- expression nodes ----------------------------------------------------------------------------------------------

    def expression(self, contract: ContractExpression, v: str) -> list[py.stmt]:
        self.em.start(contract)
        chain = contract.chain
        if chain is None or not chain.plain:
            return [b.assign(v, self.general(contract, v))]
        steps = chain.steps
        made: list[py.stmt] = []
        if not steps or not _converts(steps[0]):
            # Values from outside arrive as plain data; where no step converts them they are frozen here.
            made.append(self._freeze(v))
        kind = "any"
        nullable = True
        for step, following in zip_longest(steps, steps[1:]):
            if isinstance(step, Convert):
                if isinstance(following, NotNull) and not self.strict:
                    made.append(self._exact_not_null(step.name, v))
                    kind, nullable = CONTRACT_KINDS[step.name], False
                else:
                    made.append(self._exact(step.name, v))
                    kind = "any" if nullable else CONTRACT_KINDS[step.name]
            elif isinstance(step, NotNull):
                if nullable:
                    made.append(py.If(b.is_null(b.name(v)), [py.Expr(b.call("_null_violation"))], []))
                nullable = False
            elif isinstance(step, Check):
                made.append(self._check(step, v, kind))
            else:
                made.append(self._object_step(step, v))
                kind = "any"
            self.em._place(made[-1], step.call)
        return made

    def _freeze(self, v: str) -> py.stmt:
        test = py.Compare(b.attr(b.name(v), "__class__"), [py.NotIn()], [b.name("_FROZEN")])
        return py.If(test, [b.assign(v, b.call("_freeze", b.name("rt"), b.name(v)))], [])

    def general(self, contract: ContractExpression, v: str) -> py.expr:
        """The closure tier for an expression that is no chain of contract functions."""
        site = self.em.link("_k", "contract", contract.text, 0, -1, self.strict, self.argument)
        this = b.name(self.this) if self.this else b.const(None)
        value = b.call("_freeze", b.name("rt"), b.name(v))
        return b.call("_freeze", b.name("rt"), b.call(site, this, py.Dict([b.const("1")], [value])))

    def _exact(self, name: StepName, v: str) -> py.stmt:
        cls = CONTRACT_KINDS[name]
        test = b.both(
            py.Compare(b.attr(b.name(v), "__class__"), [py.IsNot()], [b.name("_" + cls)]), b.is_null(b.name(v), True)
        )
        return py.If(test, [b.assign(v, b.call(f"_{'strict' if self.strict else 'to'}_{name}", b.name(v)))], [])

    def _exact_not_null(self, name: StepName, v: str) -> py.stmt:
        test = py.Compare(b.attr(b.name(v), "__class__"), [py.IsNot()], [b.name("_" + CONTRACT_KINDS[name])])
        convert = b.assign(v, b.call(f"_need_{name}", b.name(v)))
        return py.If(test, [convert], [])

    def _check(self, step: Check, v: str, kind: str) -> py.stmt:
        assert step.predicate is not None
        names: dict[str, tuple[str, str]] = {"1": (v, kind)}
        if self.this:
            names["this"] = (self.this, "self")
        scope = Scope(names)
        predicate = self.em.emit(step.predicate, scope)
        message: list[py.expr] = []
        if step.message is not None:
            message = [self.em.emit(step.message, scope).node]
        text = self.em.text[step.predicate.span.start : step.predicate.span.end]
        failed = py.Expr(b.call("_check_failed", b.name(v), b.const(text), *message))
        return py.If(py.UnaryOp(py.Not(), predicate.node), [failed], [])

    def _object_step(self, step: Step, v: str) -> py.stmt:
        this = b.name(self.this) if self.this else b.const(None)
        if isinstance(step, Owner):
            return b.assign(v, b.call("_owned" if step.owned else "_not_owned", b.name(v), this))
        assert isinstance(step, OfClass)
        assert step.name is not None
        target = self._class_link(step.name, step.version_spec)
        default = b.const(None) if step.default is None else b.name(self._class_link(step.default))
        args: list[py.expr] = [b.name(v), b.name("cx"), this, b.name(target), default, b.const(step.version_spec)]
        if not step.template:
            helper = "_strict_class" if self.strict else "_argument_class" if self.argument else "_class"
            known: list[py.stmt] = [py.Expr(b.call(target))]  # an unknown class is an error for null, too
            return py.If(b.is_null(b.name(v)), known, [b.assign(v, b.call(helper, *args))])
        if step.excluded is not None:
            args.append(self.em.frozen(step.excluded, Scope()).node)
        return b.assign(v, b.call("_strict_template" if self.strict else "_template", *args))

    def _class_link(self, name: str, version_spec: ast.Scalar = None) -> str:
        spec = () if version_spec is None else (str(version_spec),)
        return self.em.link("_q", "class", name, *spec)

    # -- structures ----------------------------------------------------------------------------------------------------

    def literal(self, contract: Literal, v: str) -> list[py.stmt]:
        value = contract.value
        if value is None or isinstance(value, (bool, int, float, str)):
            expected: py.expr = b.const(value)
        else:
            expected = b.name(self.em.link("_l", "literal", thaw(value)))
        test = py.Compare(b.name(v), [py.NotEq()], [expected])
        return [py.If(test, [py.Expr(b.call("_literal_violation", b.name(v), expected))], [])]

    def list_(self, contract: ContractList, v: str) -> list[py.stmt]:
        made: list[py.stmt] = [
            py.If(
                py.Compare(b.attr(b.name(v), "__class__"), [py.IsNot()], [b.name("tuple")]),
                [b.assign(v, b.call("_strict_items" if self.strict else "_items", b.name("rt"), b.name(v)))],
                [],
            )
        ]
        if contract.minimum is not None or contract.maximum is not None:
            limits = [b.const(contract.minimum), b.const(contract.maximum)]
            made.append(py.Expr(b.call("_check_length", b.name(v), *limits)))
        if not contract.items:
            first = made[0]
            assert isinstance(first, py.If)
            first.body.append(b.assign(v, b.call("_freeze_items", b.name("rt"), b.name(v))))
            if contract.minimum is not None:
                # Numbers only: there is no contract for an item, which Murano notices at the first one.
                made.append(py.If(b.name(v), [py.Raise(b.call("_no_item_contract"), None)], []))
            return made
        e, i, o = self.fresh("e"), self.fresh("i"), self.fresh("o")
        body: list[py.stmt]
        if len(contract.items) == 1:
            body = self.emit(contract.items[0], e)
        else:
            body = self._by_position(contract.items, e, i)
        body.append(py.Expr(b.call(b.attr(b.name(o), "append"), b.name(e))))
        loop = py.For(py.Tuple([b.target(i), b.target(e)], b.STORE), b.call("_enumerate", b.name(v)), body, [])
        statements: list[py.stmt] = [
            b.assign(o, py.List([], b.LOAD)),
            b.assign(i, b.const(0)),
            self._with_path([loop], b.name(i)),
            b.assign(v, b.call("tuple", b.name(o))),
        ]
        quick = self._bulk(contract.items)
        if quick is not None:
            # Mostly every item has the exact class already: the first that has not makes them all be converted.
            test = py.Compare(b.attr(b.name(e), "__class__"), [py.IsNot()], [b.name(quick)])
            made.append(py.For(b.target(e), b.name(v), [py.If(test, [*statements, py.Break()], [])], []))
        else:
            made.extend(statements)
        return made

    def _bulk(self, items: tuple[Contract, ...]) -> str | None:
        chain = items[0].chain if len(items) == 1 and isinstance(items[0], ContractExpression) else None
        if chain is not None and chain.plain and len(chain.steps) == 2:
            first, second = chain.steps
            if isinstance(first, Convert) and isinstance(second, NotNull):
                return "_" + CONTRACT_KINDS[first.name]
        return None

    def _by_position(self, items: tuple[Contract, ...], e: str, i: str) -> list[py.stmt]:
        orelse = self.emit(items[-1], e)
        for index in range(len(items) - 2, -1, -1):
            test = py.Compare(b.name(i), [py.Eq()], [b.const(index)])
            orelse = [py.If(test, self.emit(items[index], e), orelse)]
        return orelse

    def map_(self, contract: ContractMap, v: str) -> list[py.stmt]:
        made: list[py.stmt] = [
            py.If(
                py.Compare(b.attr(b.name(v), "__class__"), [py.IsNot()], [b.name("_FD")]),
                [b.assign(v, b.call("_mapping", b.name(v)))],
                [],
            )
        ]
        if contract.open:
            return [py.If(made[0].test, [*made[0].body, b.assign(v, b.call("_freeze", b.name("rt"), b.name(v)))], [])]  # type: ignore[attr-defined]
        if len(contract.rest) > 1:
            return [*made, py.Expr(b.call("_two_rests"))]
        k = self.fresh("k")
        inside: list[py.stmt] = []
        locals_: list[tuple[object, str]] = []
        for key, item in contract.entries:
            e = self.fresh("e")
            locals_.append((key, e))
            inside.append(b.assign(k, b.const(key)))
            inside.append(b.assign(e, b.call(b.attr(b.name(v), "get"), b.const(key))))
            inside.extend(self.emit(item, e))
        display = py.Dict([b.const(key) for key, _ in locals_], [b.name(e) for _, e in locals_])
        if contract.rest:
            key_contract, value_contract = contract.rest[0]
            r, e, kk = self.fresh("r"), self.fresh("e"), self.fresh("k")
            raw = self.fresh("k")
            body: list[py.stmt] = [b.assign(raw, b.name(kk)), b.assign(k, b.name("_M"))]
            literals = [b.const(key) for key, _ in contract.entries]
            body += self.emit(key_contract, kk)
            body.append(b.assign(k, b.name(raw)))
            body += self.emit(value_contract, e)
            body.append(py.Assign([py.Subscript(b.name(r), b.call("_key", b.name(kk)), b.STORE)], b.name(e)))
            if literals:
                skip = py.Compare(b.name(kk), [py.In()], [py.Tuple(list(literals), b.LOAD)])
                body = [py.If(skip, [py.Continue()], []), *body]
            pairs = b.call(b.attr(b.name(v), "items"))
            loop = py.For(py.Tuple([b.target(kk), b.target(e)], b.STORE), pairs, body, [])
            statements: list[py.stmt] = [b.assign(k, b.const(None))]
            statements.append(self._with_path([*inside, b.assign(r, display), loop], b.name(k)))
            statements.append(b.assign(v, b.call("_FD", b.name(r))))
            quick = self._bulk_map(contract)
            if quick is not None:
                test = py.UnaryOp(py.Not(), b.call("_all_entries", b.name(v), *map(b.name, quick)))
                plain = py.If(made[0].test, [b.assign(v, b.call("_FD", b.name(v)))], [])  # type: ignore[attr-defined]
                return [*made, py.If(test, statements, [plain])]
            return [*made, *statements]
        made.append(b.assign(k, b.const(None)))
        made.append(self._with_path(inside, b.name(k)))
        made.append(b.assign(v, b.call("_FD", display)))
        return made

    def _bulk_map(self, contract: ContractMap) -> tuple[str, str] | None:
        if contract.entries:
            return None
        key, value = self._bulk((contract.rest[0][0],)), self._bulk((contract.rest[0][1],))
        return (key, value) if key and value else None

    def _with_path(self, body: list[py.stmt], step: py.expr) -> py.stmt:
        x = self.fresh("x")
        again = py.Raise(b.call(b.attr(b.name(x), "with_prefix"), step), None)
        return py.Try(body or [py.Pass()], [py.ExceptHandler(b.name("_CV"), x, [again])], [], [])


def _converts(step: Step) -> bool:
    """Whether nothing of the original value is left in place."""
    return isinstance(step, Convert) or (isinstance(step, OfClass) and not step.template)


def _at(node: py.AST, line: int, column: int) -> None:
    b.place(node, line, max(column - 1, 0), line, max(column - 1, 0))


__all__ = ["Code", "ContractCompiler", "contract_unit"]
