"""``format('…{0}…', a, b)`` with a literal template: text built in line when every value is a scalar."""

from __future__ import annotations

import ast as py
import re

from vetro.yaql import ast
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import SCALAR_KINDS, BaseEmitter, Code, Scope

_FIELD = re.compile(r"\{(\d*)\}|(\{\{|\}\})|([{}])")


def template_parts(text: str) -> list[str | int] | None:
    """Literal pieces and argument numbers of a template of plain positional fields; None for anything else."""
    parts: list[str | int] = []
    position = 0
    automatic = 0
    for found in _FIELD.finditer(text):
        parts.append(text[position : found.start()])
        position = found.end()
        if found.group(3):
            return None
        if found.group(2):
            parts.append(found.group(2)[0])
        elif found.group(1):
            if automatic:
                return None
            parts.append(int(found.group(1)))
        else:
            if automatic == 0 and any(isinstance(p, int) for p in parts):
                return None
            parts.append(automatic)
            automatic += 1
    parts.append(text[position:])
    return [p for p in parts if p != ""]


def emit_format(em: BaseEmitter, node: ast.Call, scope: Scope) -> Code | None:
    """The in-line form, or None when template or arguments are not of the simple kind."""
    args = node.args
    if not args or any(isinstance(a, (ast.Pair, ast.Empty)) for a in args):
        return None
    template = args[0]
    if not (isinstance(template, ast.Constant) and isinstance(template.value, str)) or len(template.value) > 500:
        return None
    parts = template_parts(template.value)
    if parts is None or any(isinstance(p, int) and p >= len(args) - 1 for p in parts):
        return None
    values = [em.emit(a, scope) for a in args[1:]]
    tests: list[py.expr] = []
    again: list[Code] = []
    for value in values:
        first, repeat = em.bind_once(value)
        again.append(repeat)
        if value.kind not in SCALAR_KINDS or not value.simple:
            tests.append(py.Compare(b.attr(first, "__class__"), [py.In()], [b.name("_SCALARS")]))
    test: py.expr | None = None
    for each in tests:
        # `&` evaluates every argument even when an earlier one is no scalar.
        test = each if test is None else py.BinOp(test, py.BitAnd(), each)
    pieces: list[py.expr] = []
    for part in parts:
        code = Code(b.const(part)) if isinstance(part, str) else again[part]
        if isinstance(code.node, py.Constant) and isinstance(code.node.value, str):
            pieces.append(code.node)
        else:
            pieces.append(py.FormattedValue(code.node, -1, None))
    quick: py.expr = py.JoinedStr(pieces)
    if test is None:
        return Code(quick, "str")
    slow = b.call("_format", b.name("cx"), b.const(template.value), *(c.node for c in again))
    return Code(b.ternary(test, quick, slow), "str")
