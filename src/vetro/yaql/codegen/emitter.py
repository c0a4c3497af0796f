"""`Emitter`: the whole of `BaseEmitter`, operators and calls; compiling one expression on its own."""

from __future__ import annotations

import ast as py
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from vetro.yaql import ast
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import BaseEmitter, Code, Scope
from vetro.yaql.codegen.binding import HELPERS, bind, parser_dialect
from vetro.yaql.codegen.calls import emit_call, emit_method_call
from vetro.yaql.codegen.operators import emit_binary, emit_unary
from vetro.yaql.context import Dialect

FILE = "<yaql>"


class Emitter(BaseEmitter):
    """Emits expressions of one piece of code (a method, a contract, an expression)."""

    def emit_Unary(self, node: ast.Unary, scope: Scope) -> Code:
        return emit_unary(self, node, scope)

    def emit_Binary(self, node: ast.Binary, scope: Scope) -> Code:
        return emit_binary(self, node, scope)

    def emit_Call(self, node: ast.Call, scope: Scope) -> Code:
        return emit_call(self, node, scope)

    def emit_MethodCall(self, node: ast.MethodCall, scope: Scope) -> Code:
        return emit_method_call(self, node, scope)


def expression_function(
    node: ast.Node, dialect: Dialect, text: str
) -> tuple[py.FunctionDef, dict[str, tuple[Any, ...]]]:
    """``def expression(env)`` for ``node``, and what its global names stand for."""
    emitter = Emitter(dialect)

    def locate(span: ast.Span) -> tuple[int, ...]:
        line = text.count("\n", 0, span.start) + 1
        column = span.start - (text.rfind("\n", 0, span.start) + 1)
        end_line = text.count("\n", 0, span.end) + 1
        end_column = span.end - (text.rfind("\n", 0, span.end) + 1)
        return line, column, end_line, end_column

    emitter.begin(node, text, locate)
    scope = Scope({"1": ("d1", "any")}, lambda name: b.call(b.attr(b.name("env"), "get"), b.const(name)))
    result = emitter.emit(node, scope)
    context = b.attr(b.name("env"), "cx")
    body: list[py.stmt] = [
        b.assign("cx", context),
        b.assign("rt", b.attr(b.name("cx"), "rt")),
        b.assign("d1", b.call(b.attr(b.name("env"), "get"), b.const("1"))),
        py.Return(result.node),
    ]
    function = py.FunctionDef("expression", b.arguments(["env"]), body, [])
    return function, emitter.links


def compile_expression(node: ast.Node, dialect: Dialect, text: str) -> Callable[[Any], Any]:
    """A function that evaluates ``node`` in an `Env`; lazy results stay lazy, errors are those of the closure tier."""
    function, links = expression_function(node, dialect, text)
    b.complete(function)
    module = py.Module([function], [])
    namespace: dict[str, Any] = {**HELPERS, "__builtins__": {}}
    bind(links, SimpleNamespace(dialect=dialect), namespace, parser_dialect(dialect))
    defined: dict[str, Any] = {}
    exec(compile(module, FILE, "exec", dont_inherit=True, optimize=0), namespace, defined)
    made: Callable[[Any], Any] = defined["expression"]
    return made
