"""`Emitter`: the whole of `BaseEmitter`, operators and calls."""

from __future__ import annotations

from vetro.yaql import ast
from vetro.yaql.codegen.base import BaseEmitter, Code, Scope
from vetro.yaql.codegen.calls import emit_call, emit_method_call
from vetro.yaql.codegen.operators import emit_binary, emit_unary


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
