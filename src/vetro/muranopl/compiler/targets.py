"""Assignments (SEMANTICS 9.7): variables and own properties directly, deep paths by rebuilding along the path."""

from __future__ import annotations

import ast as py
from typing import TYPE_CHECKING

from vetro.diagnostics import Text
from vetro.muranopl.compiler.emitter import MuranoEmitter, property_kind
from vetro.muranopl.contracts.resolver import qualified_name
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import AssignmentToCall, InvalidAssignmentTarget
from vetro.muranopl.types.access import private_slot
from vetro.yaql import ast
from vetro.yaql.codegen import Code, Scope
from vetro.yaql.codegen import pyast as b

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass


class TargetMixin:
    """Emits `Assign` instructions."""

    em: MuranoEmitter
    owner: LinkedClass

    if TYPE_CHECKING:

        def template(self, template: d.Template, scope: Scope) -> Code: ...

    def assignment(self, instruction: d.Assign, scope: Scope) -> list[py.stmt]:
        """Statements for ``target: value``; the value is evaluated first."""
        expression = instruction.target
        node = expression.node
        if isinstance(node, ast.Variable):
            if node.name in ("1",) or (node.name == "this" and node.name not in self._arguments()):
                raise InvalidAssignmentTarget(Text("$ and $this cannot be assigned"), position=instruction.position)
            value = self.template(instruction.value, scope)
            return self._variable(node.name, value, instruction, scope)
        steps: list[ast.Node] = []
        root: ast.Node = node
        while isinstance(root, (ast.Attribute, ast.Index)):
            if isinstance(root, ast.Attribute) and root.safe:
                raise InvalidAssignmentTarget(Text("?. cannot stand on the left side"), position=instruction.position)
            steps.append(root)
            root = root.receiver
        steps.reverse()
        if not steps:
            raise AssignmentToCall(
                Text("'{text}' cannot be assigned to", text=expression.text),
                position=instruction.position,
                hint=Text("assign to $variable, $.property or a path of [index] and .key behind them"),
            )
        value = self.template(instruction.value, scope)
        if value.simple or (len(steps) == 1 and isinstance(steps[0], ast.Attribute)):
            return self._path_target(root, steps, value, instruction, scope)
        # The value comes before anything that the target reads on its way.
        temp = self.em.temp()
        return [b.assign(temp, value.node), *self._path_target(root, steps, Code(b.name(temp)), instruction, scope)]

    def _path_target(
        self, root: ast.Node, steps: list[ast.Node], value: Code, instruction: d.Assign, scope: Scope
    ) -> list[py.stmt]:
        expression = instruction.target
        first = steps[0]
        if isinstance(root, ast.Variable):
            receiver = self.em.variable(root.name, scope)
            if receiver.kind == "self" and isinstance(first, ast.Attribute) and not self.em.static:
                if len(steps) == 1:
                    appended = self._append(instruction, first.name, scope)
                    return appended or [self._set_own(receiver.node, first.name, value.node)]
                return self._deep_own(receiver.node, first.name, steps[1:], value, expression, scope)
            path = self._path(steps, expression, scope)
            changed = b.call("_assign", b.name("cx"), receiver.node, path, value.node)
            if root.name in ("1", "this"):
                return [py.Expr(changed)]
            return [b.assign(receiver.node.id, changed)]  # type: ignore[attr-defined]
        if qualified_name(root) is not None:
            self.em.start(expression)
            owner = self.em.emit(root, scope)
            path = self._path(steps, expression, scope)
            return [py.Expr(b.call("_assign", b.name("cx"), owner.node, path, value.node))]
        if isinstance(root, ast.MethodCall | ast.Call) and _is_type_call(root):
            self.em.start(expression)
            owner = self.em.emit(root, scope)
            path = self._path(steps, expression, scope)
            return [py.Expr(b.call("_assign", b.name("cx"), owner.node, path, value.node))]
        raise AssignmentToCall(
            Text("'{text}' cannot be assigned to: a call or an operator stands on the left side", text=expression.text),
            position=instruction.position,
        )

    def _arguments(self) -> list[str]:
        return getattr(self, "arguments", [])

    def _variable(self, name: str, value: Code, instruction: d.Assign, scope: Scope) -> list[py.stmt]:
        local = "v_" + name
        grown = self._grown_text(local, instruction, value)
        if grown is not None:
            return grown
        return [b.assign(local, value.node)]

    def _grown_text(self, local: str, instruction: d.Assign, value: Code) -> list[py.stmt] | None:
        """``$x: $x + e`` as statements whose text case CPython performs in place."""
        node = value.node
        if not (isinstance(node, py.IfExp) and isinstance(node.body, py.BinOp) and isinstance(node.body.op, py.Add)):
            call = node
            if not (
                isinstance(call, py.Call) and isinstance(call.func, py.Name) and call.func.id in ("_add", "_freeze")
            ):
                return None
            if call.func.id == "_freeze":
                call = call.args[1]
                if isinstance(call, py.IfExp):
                    return self._grown_text(local, instruction, Code(call))
                if not (isinstance(call, py.Call) and isinstance(call.func, py.Name) and call.func.id == "_add"):
                    return None
            left, right = call.args[1], call.args[2]
        else:
            orelse = node.orelse
            if not (isinstance(orelse, py.Call) and len(orelse.args) == 3):
                return None
            left, right = orelse.args[1], orelse.args[2]
            if isinstance(right, py.Name) and right.id != local and right.id[0] == "t":
                return None
        if not (isinstance(left, py.Name) and left.id == local):
            return None
        temp = "g_"
        quick = py.Assign([b.target(local)], py.BinOp(b.name(local), py.Add(), b.name(temp)))
        slow = b.assign(
            local, b.call("_freeze", b.name("rt"), b.call("_add", b.name("cx"), b.name(local), b.name(temp)))
        )
        too_long = py.Compare(b.call("len", b.name(local)), [py.Gt()], [b.attr(b.name("rt"), "max_text")])
        check = py.If(too_long, [py.Expr(b.call("_text_too_long", b.name("rt"), b.name(local)))], [])
        text = b.both(b.is_class(b.name(local), "_str"), b.is_class(b.name(temp), "_str"))
        number = b.both(b.is_class(b.name(local), "_int"), b.is_class(b.name(temp), "_int"))
        second: py.stmt = py.If(
            text, [py.Assign([b.target(local)], py.BinOp(b.name(local), py.Add(), b.name(temp))), check], [slow]
        )
        return [b.assign(temp, right), py.If(number, [quick], [second])]

    # -- properties ----------------------------------------------------------------------------------------------------

    def _set_own(self, receiver: py.expr, name: str, value: py.expr) -> py.stmt:
        kind = property_kind(self.owner, name)
        if kind == "private":
            return py.Assign([py.Attribute(receiver, private_slot(name, self.owner), b.STORE)], value)
        if kind == "static":
            return py.Expr(b.call("_set", b.name("cx"), receiver, b.const(name), value))
        return py.Expr(b.call(b.attr(receiver, "set_" + name), value))

    def _append(self, instruction: d.Assign, name: str, scope: Scope) -> list[py.stmt] | None:
        """``$.x: $.x + [e]`` on a declared property: only the new items are checked."""
        value = instruction.value
        if not isinstance(value, d.Expression) or property_kind(self.owner, name) in ("private", "static"):
            return None
        node = value.node
        if not (isinstance(node, ast.Binary) and node.op == "+" and isinstance(node.right, ast.ListDisplay)):
            return None
        left = node.left
        if not isinstance(left, ast.Attribute) or left.name != name or left.safe:
            return None
        if not isinstance(left.receiver, ast.Variable):
            return None
        receiver = self.em.variable(left.receiver.name, scope)
        if receiver.kind != "self":
            return None
        self.em.start(value)
        items = self.em.emit(node.right, scope)
        return [py.Expr(b.call(b.attr(receiver.node, "add_" + name), items.node))]

    def _deep_own(
        self, receiver: py.expr, name: str, steps: list[ast.Node], value: Code, expression: d.Expression, scope: Scope
    ) -> list[py.stmt]:
        kind = property_kind(self.owner, name)
        path = self._path(steps, expression, scope)
        slot = private_slot(name, self.owner) if kind == "private" else "p_" + name
        if kind == "static":
            current = b.call("_attribute", b.name("cx"), receiver, b.const(name))
        else:
            current = b.call("_slot", receiver, b.const(slot))
        temp = self.em.temp()
        changed = b.call("_assign_in", b.name("cx"), b.name(temp), path, value.node)
        new = self.em.temp()
        store = self._set_own(receiver, name, b.name(new))
        # An object on the path was changed itself: then nothing is stored here.
        test = py.Compare(b.walrus(new, changed), [py.IsNot()], [b.name("_M")])
        return [b.assign(temp, current), py.If(test, [store], [])]

    def _path(self, steps: list[ast.Node], expression: d.Expression, scope: Scope) -> py.expr:
        """A tuple of steps: text for ``.key``, ``(index,)`` for ``[index]``."""
        self.em.start(expression)
        made: list[py.expr] = []
        for step in steps:
            if isinstance(step, ast.Attribute):
                made.append(b.const(step.name))
            else:
                assert isinstance(step, ast.Index)
                if len(step.args) != 1 or isinstance(step.args[0], (ast.Pair, ast.Empty)):
                    raise InvalidAssignmentTarget(Text("an index takes one value"), position=expression.position)
                made.append(py.Tuple([self.em.frozen(step.args[0], scope).node], b.LOAD))
        return py.Tuple(made, b.LOAD)


def _is_type_call(node: ast.Node) -> bool:
    """``type('n.C').p: v`` is allowed; ``type($o).p: v`` is not (SEMANTICS 8.2)."""
    return (
        isinstance(node, ast.Call)
        and node.name == "type"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
    )
