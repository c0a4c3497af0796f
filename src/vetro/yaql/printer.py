"""Writes syntax trees as text.

Both printers keep their own list of what is left to write, so the depth of a tree costs no Python frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from vetro.yaql import ast
from vetro.yaql.precedence import BINARY, DOT_LEVEL, LEGACY_BINARY, MURANO_BINARY, MURANO_PREFIX, POSTFIX_LEVEL, PREFIX

_BINARY_LEVELS = BINARY | LEGACY_BINARY | MURANO_BINARY
_PREFIX_LEVELS = PREFIX | MURANO_PREFIX
#: Level of what never needs parentheses.
_PRIMARY = 100
_TIGHT = frozenset({".", "?.", ":"})
#: Operators whose function is not named `#operator_…`.
_ALIASES = {"=": "*equal", "!=": "*not_equal"}

_Part = str | ast.Node


def to_call_form(node: ast.Node) -> str:
    """``node`` as nested calls of the functions that operators stand for: ``#operator_+($, 1)`` (YAQL.md 1.3, 1.4).

    Meant for people and tests; the text is no expression, and texts inside it are not escaped. ``$1`` prints as
    ``$``, which is the same variable.
    """
    return _write(node, _call_parts)


def to_text(node: ast.Node) -> str:
    """An expression that parses back to a tree equal to ``node`` but for its spans, with no needless parentheses.

    Give the parser the dialect that ``node`` came from. Raises `ValueError` for constants that no expression text
    has: negative numbers and NaN.
    """
    return _write(node, _text_parts)


def _write(root: ast.Node, parts_of: Callable[[ast.Node], Sequence[_Part]]) -> str:
    out: list[str] = []
    todo: list[_Part] = [root]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Node):
            todo.extend(reversed(parts_of(part)))
            continue
        if out and out[-1] == "." and part[:1].isdigit():
            # "1.5" would be one number.
            out[-1] = " ."
        out.append(part)
    return "".join(out)


# The call form


def _call_parts(node: ast.Node) -> Sequence[_Part]:
    match node:
        case ast.Constant():
            return (f"'{node.value}'" if isinstance(node.value, str) else str(node.value),)
        case ast.Variable():
            return ("$" if node.name == "1" else "$" + node.name,)
        case ast.Empty():
            return ("<NoValue>",)
        case ast.Pair():
            return (node.key, " => ", node.value)
        case ast.Unary():
            return (f"#unary_operator_{node.op}(", node.operand, ")")
        case ast.Binary():
            return (_ALIASES.get(node.op, "#operator_" + node.op) + "(", node.left, ", ", node.right, ")")
        case ast.Attribute():
            return (f"#operator_{_dot(node)}(", node.receiver, f", '{node.name}')")
        case ast.MethodCall():
            return (f"#operator_{_dot(node)}(", node.receiver, f", {node.name}(", *_listed(node.args), "))")
        case ast.Call():
            return (node.name + "(", *_listed(node.args), ")")
        case ast.ListDisplay():
            return ("#list(", *_listed(node.args), ")")
        case ast.MapDisplay():
            return ("#map(", *_listed(node.args), ")")
        case ast.Index():
            return ("#indexer(", *_listed((node.receiver, *node.args)), ")")
        case ast.Invoke():
            return ("#call(", *_listed((node.target, *node.args)), ")")
    raise TypeError(f"not a node of an expression: {node!r}")


def _dot(node: ast.Attribute | ast.MethodCall) -> str:
    return "?." if node.safe else "."


def _listed(args: Sequence[ast.Node]) -> list[_Part]:
    parts: list[_Part] = []
    for arg in args:
        if parts:
            parts.append(", ")
        parts.append(arg)
    return parts


# The expression text


def _text_parts(node: ast.Node) -> Sequence[_Part]:
    match node:
        case ast.Constant():
            return (_constant(node),)
        case ast.Variable():
            return ("$" if node.name == "1" else "$" + node.name,)
        case ast.Empty():
            return ("",)
        case ast.Pair():
            return (node.key, " => ", node.value)
        case ast.Unary():
            sign = node.op + " " if node.op.isalpha() else node.op
            return (sign, *_wrapped(node.operand, _right_needs_parentheses(node.operand, _PREFIX_LEVELS[node.op])))
        case ast.Binary():
            return _binary(node)
        case ast.Attribute():
            return (*_left(node.receiver, DOT_LEVEL), f"{_dot(node)}{node.name}")
        case ast.MethodCall():
            return (*_left(node.receiver, DOT_LEVEL), f"{_dot(node)}{node.name}(", *_listed(node.args), ")")
        case ast.Call():
            return (node.name + "(", *_listed(node.args), ")")
        case ast.ListDisplay():
            return ("[", *_listed(node.args), "]")
        case ast.MapDisplay():
            return ("{", *_listed(node.args), "}")
        case ast.Index():
            return (*_left(node.receiver, POSTFIX_LEVEL), "[", *_listed(node.args), "]")
        case ast.Invoke():
            # A word in front of the bracket would be the name of a function.
            plain = isinstance(node.target, (ast.Variable, ast.Call, ast.MethodCall, ast.Index, ast.Invoke))
            return (*_wrapped(node.target, not plain), "(", *_listed(node.args), ")")
    raise TypeError(f"not a node of an expression: {node!r}")


def _binary(node: ast.Binary) -> Sequence[_Part]:
    level = _BINARY_LEVELS[node.op]
    # "->" is the only operator that associates to the right.
    left = _left(node.left, level + 1 if node.op == "->" else level)
    right = _wrapped(node.right, _right_side_wrapped(node))
    if node.op in _TIGHT:
        return (*left, node.op, *right)
    return (*left, f" {node.op} ", *right)


def _right_side_wrapped(node: ast.Binary) -> bool:
    right = node.right
    if node.op in (".", "?.") and (isinstance(right, ast.Call) or (isinstance(right, ast.Constant) and right.bare)):
        # Bare, it would be a method call or an attribute.
        return True
    level = _BINARY_LEVELS[node.op]
    return _right_needs_parentheses(right, level - 1 if node.op == "->" else level)


def _right_needs_parentheses(node: ast.Node, level: int) -> bool:
    """Whether ``node`` needs parentheses to the right of an operator of ``level``."""
    # A prefix operator may follow any other operator; it reaches as far as its own level allows.
    return not isinstance(node, ast.Unary) and _level_as_right_side(node) <= level


def _level_as_right_side(node: ast.Node) -> int:
    match node:
        case ast.Binary():
            return _BINARY_LEVELS[node.op]
        case ast.Attribute() | ast.MethodCall():
            return DOT_LEVEL
        case ast.Index() | ast.Invoke():
            return POSTFIX_LEVEL
    return _PRIMARY


def _left(node: ast.Node, level: int) -> Sequence[_Part]:
    """``node`` as the left side of something of ``level``."""
    return _wrapped(node, _level_as_left_side(node) < level)


def _level_as_left_side(node: ast.Node) -> int:
    """The loosest operator that what follows ``node`` could be drawn into."""
    lowest = _PRIMARY
    while True:
        match node:
            case ast.Unary():
                level = _PREFIX_LEVELS[node.op]
                lowest = min(lowest, level)
                if _right_needs_parentheses(node.operand, level):
                    return lowest
                node = node.operand
            case ast.Binary():
                lowest = min(lowest, _BINARY_LEVELS[node.op])
                if _right_side_wrapped(node):
                    return lowest
                node = node.right
            case ast.Attribute() | ast.MethodCall():
                return min(lowest, DOT_LEVEL)
            case _:
                return lowest


def _wrapped(node: ast.Node, wrap: bool) -> Sequence[_Part]:
    return ("(", node, ")") if wrap else (node,)


def _constant(node: ast.Constant) -> str:
    value = node.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if node.bare else _quoted(value)
    if isinstance(value, int):
        text = str(value)
    elif value == float("inf"):
        text = "1" + "0" * 309 + ".0"
    else:
        # No exponents in this language.
        text = format(Decimal(repr(value)), "f")
        if "." not in text:
            text += ".0"
    if not text[0].isdigit():
        raise ValueError(f"no expression is the number {text}")
    return text


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _quoted(value: str) -> str:
    return "'" + "".join(_ESCAPES.get(char) or (char if char.isprintable() else _escape(char)) for char in value) + "'"


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
