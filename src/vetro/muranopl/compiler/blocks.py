"""Instructions and blocks (SEMANTICS 9, 10)."""

from __future__ import annotations

import ast as py
from typing import TYPE_CHECKING, Any

from vetro.muranopl.compiler.contracts import _at
from vetro.muranopl.compiler.variables import assigned_variables, branch_locals
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import AssignmentToCall, InvalidAssignmentTarget, MuranoError
from vetro.muranopl.runtime.exceptions import NAME
from vetro.yaql import ast
from vetro.yaql.codegen import Code, Scope
from vetro.yaql.codegen import pyast as b

if TYPE_CHECKING:
    from vetro.muranopl.compiler.emitter import MuranoEmitter
    from vetro.muranopl.runtime.protocol import LinkedClass

#: Iterations of While between two charges of the step budget.
STRIDE = 256
#: Python blocks (loops, try) that each instruction becomes, and how many may stand inside each other in one Python
#: function: CPython compiles no more than 20. Deeper ones move into a function of their own.
BLOCKS: dict[type, int] = {d.For: 1, d.Repeat: 1, d.While: 2, d.Try: 4}
DEEPEST = 16
#: What an outlined block gives back when it was left by Break or Continue; a 1-tuple holds a returned value.
BREAK, CONTINUE = 1, 2


class BlockMixin:
    """Emits every kind of instruction."""

    em: MuranoEmitter
    owner: LinkedClass
    loops: int
    branch: bool
    handling: str | None
    #: Python blocks around the current place, and loops around it, in the current Python function.
    depth: int = 0
    near_loops: int = 0

    if TYPE_CHECKING:

        def template(self, template: d.Template, scope: Scope) -> Code: ...
        def literal(self, value: Any) -> Code: ...
        def fresh(self, prefix: str) -> str: ...
        def assignment(self, instruction: d.Assign, scope: Scope) -> list[py.stmt]: ...
        def needs_trace(self, variable: str) -> bool: ...

    def block(self, block: d.Block, scope: Scope) -> list[py.stmt]:
        """Statements of a block; never empty."""
        made: list[py.stmt] = []
        for instruction in block:
            made.extend(self.instruction(instruction, scope))
        return made or [py.Pass()]

    def instruction(self, instruction: d.Instruction, scope: Scope) -> list[py.stmt]:
        """Statements of one instruction, placed at its position."""
        blocks = BLOCKS.get(type(instruction), 0)
        if blocks and self.depth + blocks > DEEPEST:
            made = self.outlined(instruction, scope)
        else:
            self.depth += blocks
            handler = getattr(self, "emit_" + type(instruction).__name__)
            made = handler(instruction, scope)
            self.depth -= blocks
        for statement in made:
            _at(statement, instruction.position.line, instruction.position.column)
        return made

    def outlined(self, instruction: d.Instruction, scope: Scope) -> list[py.stmt]:
        """The instruction as a nested function that shares the variables, and a call of it."""
        name, result = self.fresh("b_"), self.fresh("r_")
        shared = [scope.names[v][0] for v in assigned_variables((instruction,))]
        if self.handling is not None:
            shared.append(self.handling)
        saved = self.depth, self.near_loops, self.branch
        self.depth, self.near_loops, self.branch = 0, 0, True
        body: list[py.stmt] = [py.Nonlocal(sorted(set(shared)))] if shared else []
        body += self.instruction(instruction, scope)
        self.depth, self.near_loops, self.branch = saved
        leave: list[py.stmt] = [py.Return(b.name(result) if self.branch else b.item(b.name(result), b.const(0)))]
        if self.loops:
            broke = py.Compare(b.name(result), [py.Eq()], [b.const(BREAK)])
            jump = py.If(broke, [self._jump(BREAK)], [self._jump(CONTINUE)])
            leave = [py.If(b.is_class(b.name(result), "tuple"), leave, [jump])]
        return [
            py.FunctionDef(name, b.arguments([]), body, []),
            b.assign(result, b.call(name)),
            py.If(b.is_null(b.name(result), True), leave, []),
        ]

    def _jump(self, where: int) -> py.stmt:
        """Break or Continue of a loop that may stand outside of the current Python function."""
        if not self.near_loops:
            return py.Return(b.const(where))
        return py.Break() if where == BREAK else py.Continue()

    # -- simple instructions -------------------------------------------------------------------------------------------

    def emit_Evaluate(self, i: d.Evaluate, scope: Scope) -> list[py.stmt]:
        return [py.Expr(self.template(i.expression, scope).node)]

    def emit_Assign(self, i: d.Assign, scope: Scope) -> list[py.stmt]:
        try:
            return self.assignment(i, scope)
        except InvalidAssignmentTarget as error:
            # A run-time error in MuranoPL: the rest of the method may still be used.
            self.em.start(i.target)
            text = str.__str__(error.args[0])
            return [py.Raise(b.call("_bad_target", b.const(text), b.const(isinstance(error, AssignmentToCall))), None)]

    def emit_Do(self, i: d.Do, scope: Scope) -> list[py.stmt]:
        return self.block(i.body, scope)

    def emit_Return(self, i: d.Return, scope: Scope) -> list[py.stmt]:
        value = self.template(i.value, scope).node
        return [py.Return(py.Tuple([value], b.LOAD) if self.branch else value)]

    def emit_Break(self, i: d.Break, scope: Scope) -> list[py.stmt]:
        return [self._jump(BREAK)] if self.loops else [py.Raise(b.call("_no_loop", b.const("Break")), None)]

    def emit_Continue(self, i: d.Continue, scope: Scope) -> list[py.stmt]:
        return [self._jump(CONTINUE)] if self.loops else [py.Raise(b.call("_no_loop", b.const("Continue")), None)]

    # -- branches ------------------------------------------------------------------------------------------------------

    def emit_If(self, i: d.If, scope: Scope) -> list[py.stmt]:
        condition = self.template(i.condition, scope).node
        return [py.If(condition, self.block(i.then, scope), self.block(i.orelse, scope) if i.orelse else [])]

    def lazily(self, branch: d.LazyBlock, scope: Scope) -> list[py.stmt]:
        """A branch of Match or Switch: a syntax error in it is raised when the branch runs (SEMANTICS 4.3)."""
        try:
            block = branch.parse()
        except MuranoError as error:
            at = error.position
            place = (at.file, at.line, at.column) if at is not None else None
            made = self.em.link("_s", "syntax", str(error.args[0]), place, error.hint)
            return [py.Raise(b.call(made), None)]
        return self.block(block, scope)

    def emit_Match(self, i: d.Match, scope: Scope) -> list[py.stmt]:
        subject = self.fresh("m_")
        made: list[py.stmt] = [b.assign(subject, self.template(i.value, scope).node)]
        orelse = self.lazily(i.default, scope) if i.default is not None else []
        for key, branch in reversed(i.cases):
            test = py.Compare(b.name(subject), [py.Eq()], [self.literal(key).node])
            orelse = [py.If(test, self.lazily(branch, scope), orelse)]
        return made + orelse

    def emit_Switch(self, i: d.Switch, scope: Scope) -> list[py.stmt]:
        hit = self.fresh("h_")
        made: list[py.stmt] = [b.assign(hit, b.const(False))]
        for condition, branch in i.cases:
            body = [b.assign(hit, b.const(True)), *self.lazily(branch, scope)]
            made.append(py.If(self.template(condition, scope).node, body, []))
        if i.default is not None:
            made.append(py.If(py.UnaryOp(py.Not(), b.name(hit)), self.lazily(i.default, scope), []))
        return made

    # -- loops ---------------------------------------------------------------------------------------------------------

    def loop_body(self, block: d.Block, scope: Scope) -> list[py.stmt]:
        """A block in which Break and Continue are allowed."""
        self.loops += 1
        self.near_loops += 1
        try:
            return self.block(block, scope)
        finally:
            self.loops -= 1
            self.near_loops -= 1

    def charge(self, amount: py.expr) -> list[py.stmt]:
        """Takes steps from the budget."""
        steps = b.attr(b.name("rt"), "steps")
        return [
            py.AugAssign(py.Attribute(b.name("rt"), "steps", b.STORE), py.Sub(), amount),
            py.If(py.Compare(steps, [py.Lt()], [b.const(0)]), [py.Expr(b.call(b.attr(b.name("rt"), "slow")))], []),
        ]

    def emit_While(self, i: d.While, scope: Scope) -> list[py.stmt]:
        condition = self.template(i.condition, scope).node
        leave = py.If(py.UnaryOp(py.Not(), condition), [py.Break()], [])
        inner = py.For(
            b.target("_"),
            b.call("_repeat", b.const(None), b.const(STRIDE)),
            [leave, *self.loop_body(i.body, scope)],
            [*self.charge(b.const(STRIDE)), py.Continue()],
        )
        return [py.While(b.const(True), [inner, py.Break()], [])]

    def emit_For(self, i: d.For, scope: Scope) -> list[py.stmt]:
        source = self.collection(i.collection, scope)
        local = self.fresh("c_")
        made: list[py.stmt] = [b.assign(local, source)]
        made += self.charge(b.call("len", b.name(local)))
        made.append(py.For(b.target(scope.names[i.variable][0]), b.name(local), self.loop_body(i.body, scope), []))
        return made

    def collection(self, template: d.Template, scope: Scope) -> py.expr:
        """The items a For goes through: a tuple, or Python's own range for ``range(n)``."""
        if isinstance(template, d.Expression):
            node = template.node
            if not self.em.dialect.legacy and isinstance(node, ast.Call) and _plain_range(node):
                self.em.start(template)
                args = [self.em.frozen(a, scope).node for a in node.args]
                site = self.em.link("_p", "plan", "range", "F", len(args), (), ())
                return b.call("_range_items", b.name("cx"), b.name(site), *args)
        return b.call("_for_items", b.name("rt"), self.template(template, scope).node)

    def emit_Repeat(self, i: d.Repeat, scope: Scope) -> list[py.stmt]:
        local = self.fresh("c_")
        made: list[py.stmt] = [b.assign(local, b.call("_count", self.template(i.count, scope).node))]
        made += self.charge(b.name(local))
        numbers = b.call("_repeat", b.const(None), b.name(local))
        made.append(py.For(b.target("_"), numbers, self.loop_body(i.body, scope), []))
        return made

    # -- parallel ------------------------------------------------------------------------------------------------------

    def emit_Parallel(self, i: d.Parallel, scope: Scope) -> list[py.stmt]:
        made: list[py.stmt] = []
        names: list[py.expr] = []
        saved = self.loops, self.branch, self.handling, self.depth, self.near_loops
        limit = self.template(i.limit, scope).node if i.limit is not None else b.const(None)
        for instruction in i.body:
            name = self.fresh("b_")
            shared, local = branch_locals(instruction)
            outer = [scope.names[v][0] for v in shared]
            self.loops, self.branch, self.depth, self.near_loops = (
                0,
                True,
                0,
                0,
            )  # what is being handled is known to each branch for itself
            body: list[py.stmt] = []
            if outer:
                body.append(py.Nonlocal(sorted(set(outer))))
            if local:
                body.append(py.Assign([b.target(scope.names[v][0]) for v in local], b.const(None)))
            if self.handling is not None:
                body.append(b.assign(self.handling, b.const(None)))
            body += self.instruction(instruction, scope)
            self.loops, self.branch, self.handling, self.depth, self.near_loops = saved
            made.append(py.FunctionDef(name, b.arguments([]), body, []))
            names.append(b.name(name))
        result = self.fresh("r_")
        made.append(b.assign(result, b.call("_parallel", b.name("cx"), py.Tuple(names, b.LOAD), limit)))
        value: py.expr = b.name(result) if self.branch else b.item(b.name(result), b.const(0))
        made.append(py.If(b.is_null(b.name(result), True), [py.Return(value)], []))
        return made

    # -- exceptions ----------------------------------------------------------------------------------------------------

    def emit_Throw(self, i: d.Throw, scope: Scope) -> list[py.stmt]:
        parts = [
            self.template(p, scope).node if p is not None else b.const(None) for p in (i.message, i.extra, i.cause)
        ]
        names = i.names
        if isinstance(names, d.Literal):
            given = names.value if isinstance(names.value, tuple) else (names.value,)
            if given and all(isinstance(n, str) for n in given):
                try:
                    full = tuple(self.owner.decl.namespaces.resolve(n) for n in given)
                except MuranoError as error:
                    place = (i.position.file, i.position.line, i.position.column)
                    return [py.Raise(b.call(self.em.link("_s", "syntax", str(error.args[0]), place, error.hint)), None)]
                if i.cause is None and all(NAME.match(n) for n in full):
                    while parts and isinstance(parts[-1], py.Constant) and parts[-1].value is None:
                        parts.pop()
                    return [py.Raise(b.call("_Thrown", b.const(full), *parts), None)]
                return [py.Raise(b.call("_throw", b.const(full), *parts), None)]
        value = self.template(names, scope).node
        return [py.Raise(b.call("_throw_names", b.name("cx"), value, *parts), None)]

    def emit_Rethrow(self, i: d.Rethrow, scope: Scope) -> list[py.stmt]:
        return [py.Raise(b.call("_rethrow", b.name(self.handling) if self.handling else b.const(None)), None)]

    def emit_Try(self, i: d.Try, scope: Scope) -> list[py.stmt]:
        body = self.block(i.body, scope)
        final = [py.Expr(b.call("_unchain")), *self.block(i.final, scope)] if i.final else []
        handlers: list[py.ExceptHandler] = []
        orelse = self.block(i.orelse, scope) if i.orelse else []
        if i.handlers:
            caught = self.fresh("x")
            chain: list[py.stmt] = [py.Raise(None, None)]
            for handler in reversed(i.handlers):
                chain = self._handler(handler, caught, chain, scope)
            better = b.ternary(
                b.is_class(b.name(caught), "_Thrown"), b.name(caught), b.call("_caught", b.name("cx"), b.name(caught))
            )
            translate = b.assign(caught + "_", better)
            handlers.append(py.ExceptHandler(b.name("_Exception"), caught, [translate, *chain]))
        if not handlers and not final:
            return body + orelse
        made: list[py.stmt]
        if not handlers and orelse:
            made = [py.Try(body + orelse, [], [], final)]
        else:
            made = [py.Try(body, handlers, orelse, final)]
        return made

    def _handler(self, handler: d.Handler, caught: str, otherwise: list[py.stmt], scope: Scope) -> list[py.stmt]:
        value = b.name(caught + "_")
        body: list[py.stmt] = []
        names: py.expr = b.const(None)
        if handler.names:
            names = b.const(tuple(self.owner.decl.namespaces.resolve(n) for n in handler.names))
        if handler.body is not None:
            if handler.variable is not None:
                trace = b.const(self.needs_trace(handler.variable))
                made = b.call("_exception", b.name("cx"), value, names, trace)
                body.append(b.assign(scope.names[handler.variable][0], made))
            saved = self.handling
            current = self.handling
            if current is not None:
                body.append(b.assign(current, value))
            body += self.block(handler.body, scope)
            if current is not None:
                body.append(b.assign(current, b.const(None)))
            self.handling = saved
        if not handler.names:
            return body or [py.Pass()]
        test = b.call("_catches", value, names)
        return [py.If(test, body or [py.Pass()], otherwise)]


def _plain_range(node: ast.Call) -> bool:
    plain = not any(isinstance(a, (ast.Pair, ast.Empty)) for a in node.args)
    return node.name == "range" and 1 <= len(node.args) <= 3 and plain
