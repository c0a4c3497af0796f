"""`MuranoEmitter`: expressions inside MuranoPL code.

Adds to the plain emitter what is known about the receiver at compile time: shared and private properties of ``$``
(SEMANTICS 5.5), direct method calls, class names, extension methods.
"""

from __future__ import annotations

import ast as py
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vetro.muranopl.contracts.model import Check, Contract, ContractExpression, Convert, NotNull, StepName
from vetro.muranopl.contracts.resolver import qualified_name
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.declarations.tree import Expression, PropertyUsage
from vetro.muranopl.types.access import private_slot
from vetro.yaql import ast
from vetro.yaql.codegen import Code, Emitter, Scope
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import SCALAR_KINDS, Unsupported
from vetro.yaql.codegen.calls import shape

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass

#: What the values are that a conversion yields.
CONTRACT_KINDS = {StepName.INT: "int", StepName.STRING: "str", StepName.BOOL: "bool"}


def contract_kind(contract: Contract) -> str:
    """What a value that passed the contract is known to be."""
    chain = contract.chain if isinstance(contract, ContractExpression) else None
    if chain is not None and chain.straight and chain.steps:
        first, *others = chain.steps
        if isinstance(first, Convert) and all(isinstance(step, (NotNull, Check)) for step in others):
            return "scalar" if chain.nullable else CONTRACT_KINDS[first.name]
    return "frozen"


def property_kind(owner: LinkedClass, name: str) -> str:
    """``static``, or the kind of the values of a declared property (every declaration is validated, 5.3)."""
    owners = owner.property_owners.get(name, ())
    if not owners:
        return "private"
    prop = owners[0].own_properties[name]
    if prop.usage is PropertyUsage.STATIC:
        return "static"
    return contract_kind(prop.decl.contract)


class MuranoEmitter(Emitter):
    """Emits expressions in code of class ``owner``. ``this`` names the Python local that holds the receiver."""

    def __init__(self, owner: LinkedClass, *, static: bool) -> None:
        super().__init__(owner.context.dialect)
        self.owner = owner
        self.static = static
        self.closures_only = owner.session.tier == "closure"

    @property
    def hosted(self) -> bool:
        return True

    def has_extension(self, name: str) -> bool:
        return name in self.owner.extension_names()

    def start(self, expression: Expression) -> None:
        """Makes ``expression`` the current one."""
        locate = expression.locate

        def place(span: ast.Span) -> tuple[int, ...]:
            line, column = locate(span.start)
            end_line, end_column = locate(max(span.start, span.end - 1))
            return line, column - 1, end_line, end_column

        self.begin(expression.node, expression.text, place)

    # -- attributes of the receiver ------------------------------------------------------------------------------------

    def emit_Attribute(self, node: ast.Attribute, scope: Scope) -> Code:
        if not node.safe and isinstance(node.receiver, ast.Variable):
            receiver = self.variable(node.receiver.name, scope)
            if receiver.kind == "self" and not self.static:
                return self.own_property(receiver.node, node.name)
        return super().emit_Attribute(node, scope)

    def own_property(self, receiver: py.expr, name: str) -> Code:
        """``$.name`` where ``$`` is the receiver of a method of this class."""
        kind = property_kind(self.owner, name)
        if kind == "static":
            return Code(b.call("_attribute", b.name("cx"), receiver, b.const(name)))
        if kind == "private":
            return Code(b.attr(receiver, private_slot(name, self.owner)), "frozen")
        return Code(b.attr(receiver, "p_" + name), kind)

    # -- classes -------------------------------------------------------------------------------------------------------

    def emit_Unary(self, node: ast.Unary, scope: Scope) -> Code:
        name = qualified_name(node)
        if name is not None:
            return Code(b.call(self.link("_t", "type", name)), "frozen")
        return super().emit_Unary(node, scope)

    def emit_Binary(self, node: ast.Binary, scope: Scope) -> Code:
        name = qualified_name(node)
        if name is not None:
            return Code(b.call(self.link("_t", "type", name)), "frozen")
        return super().emit_Binary(node, scope)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def host_method(self, node: ast.MethodCall, scope: Scope) -> Code | None:
        if node.safe:
            return None
        if isinstance(node.receiver, ast.Variable):
            receiver = self.variable(node.receiver.name, scope)
            method = self.owner.method_owners.get(node.name)
            if (
                receiver.kind == "self"
                and method
                and len(method) == 1
                and not method[0].own_methods[node.name].extension
            ):
                declared = method[0].own_methods[node.name]
                if declared.native is None and _is_surplus(node, declared.arguments):
                    raise Unsupported  # the closure tier applies the contracts of the others before it complains
                return self.direct(receiver.node, node, scope)
        if qualified_name(node.receiver) is not None:
            return self.direct(self.emit(node.receiver, scope).node, node, scope)
        if self.has_extension(node.name) or self.dialect.table.layers(node.name, "M"):
            return None
        receiver = self.emit(node.receiver, scope)
        if receiver.kind in SCALAR_KINDS or receiver.kind in ("tuple", "map"):
            return None
        return self.direct(receiver.node, node, scope)

    def direct(self, receiver: py.expr, node: ast.MethodCall, scope: Scope) -> Code:
        """``receiver.m_name(args)``: Python's own dispatch on the flat class."""
        positional, named = shape(node.args)
        made = [self.frozen(a, scope).node for a in positional]
        keywords = [py.keyword("v_" + n, self.frozen(v, scope).node) for n, v in named]
        return Code(b.call(b.attr(receiver, "m_" + node.name), *made, keywords=keywords), "frozen")


def _is_surplus(node: ast.MethodCall, arguments: Sequence[d.ArgumentDecl]) -> bool:
    """Whether a call gives more arguments, or others, than the method declares."""
    usages = {a.usage for a in arguments}
    names = {a.name for a in arguments if a.usage is d.ArgumentUsage.STANDARD}
    positional = sum(not isinstance(arg, ast.Pair) for arg in node.args)
    words = {arg.key.value for arg in node.args if isinstance(arg, ast.Pair) and isinstance(arg.key, ast.Constant)}
    return (positional > len(names) and d.ArgumentUsage.VAR_ARGS not in usages) or (
        not words <= names and d.ArgumentUsage.KW_ARGS not in usages
    )
