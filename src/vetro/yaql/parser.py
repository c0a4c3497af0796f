"""Builds syntax trees from expression texts (reference YAQL.md sections 1.2 and 2.1, legacy dialect section 5).

An operator-precedence parser on an explicit table. Operators and brackets that wait for their right side stand on a
list and not on Python's stack, so no text can exhaust that; nesting is limited all the same, because the readers of
the tree work level by level.
"""

from __future__ import annotations

import re
from typing import NoReturn

from vetro.diagnostics import Text
from vetro.yaql import ast
from vetro.yaql.errors import GrammarError
from vetro.yaql.lexer import (
    CONSTANTS,
    END,
    FUNCTION,
    MAX_TEXT,
    SYMBOL,
    VARIABLE,
    WORD,
    illegal_character,
    scanner,
    token_value,
)
from vetro.yaql.precedence import (
    DOT_LEVEL,
    LEGACY,
    MURANO,
    MURANO_LEGACY,
    POSTFIX_LEVEL,
    RIGHT_ASSOCIATIVE,
    STANDARD,
    ParserDialect,
)
from vetro.yaql.syntax_hints import hint_for

__all__ = [
    "LEGACY",
    "MAX_NESTING",
    "MAX_TREE_DEPTH",
    "MURANO",
    "MURANO_LEGACY",
    "STANDARD",
    "ParserDialect",
    "parse",
]

#: How many brackets, prefix operators and right sides of ``->`` may be open at once, unless the caller says otherwise.
MAX_NESTING = 400
#: How many nodes a path from the root of a tree may have: bounds chains such as ``1 + 1 + 1 …`` and ``$.a.a.a …``.
MAX_TREE_DEPTH = 2000

#: What `_Parser` returns when the next token has to begin an operand, or has to follow one.
_OPERAND, _OPERATOR = True, False
_COLON_FOLLOWS = re.compile(r"[ \t\r\n]*+:").match


def parse(text: str, dialect: ParserDialect = STANDARD, *, max_depth: int = MAX_NESTING) -> ast.Node:
    """The syntax tree of ``text``.

    Spans leave out the parentheses around a node, and cover those around its parts.

    Raises `LexicalError` for a character that begins no token and `GrammarError` for a token that may not stand
    where it does (messages of YAQL.md 1.3; ``position`` is None at the end of the text), for more than ``max_depth``
    brackets, prefix operators and right sides of ``->`` inside each other, for a tree deeper than `MAX_TREE_DEPTH`
    and for a text of more than 1,048,576 characters.
    """
    if len(text) > MAX_TEXT:
        raise GrammarError(
            Text("expression is longer than {max_text} characters", max_text=MAX_TEXT), position=MAX_TEXT, text=text
        )
    return _Parser(text, dialect, max_depth).parse()


#: An operator that waits for its right side: level, operator, start of a prefix operator (-1 for a binary one).
_Pending = tuple[int, str, int]
#: Separates the operators that wait inside a bracket from those outside.
_FLOOR: _Pending = (0, "", -1)


class _Bracket:
    """A bracket that is still open, with what was read inside. The expression as a whole is one as well."""

    __slots__ = ("args", "begin", "close", "key", "key_begin", "kind", "name", "named", "receiver", "safe", "start")

    def __init__(self, kind: type[ast.Node] | None, close: str, start: int) -> None:
        #: The node it becomes; None for mere grouping.
        self.kind = kind
        self.close = close
        self.start = start
        #: What is called or indexed, and where that begins with the parentheses around it.
        self.receiver: ast.Node | None = None
        self.begin = start
        self.name = ""
        self.safe = False
        self.args: list[ast.Node] = []
        #: Whether there was a pair: no positional argument may follow then.
        self.named = False
        #: The left side of the pair that is being read, and its beginning.
        self.key: ast.Node | None = None
        self.key_begin = start

    def takes_pair(self) -> bool:
        """Whether ``=>`` may follow the expression just read.

        After an omitted argument it may only if that is the only one and a given argument precedes it: the published
        grammar takes ``f(1,,a => 2)`` and refuses ``f(,a => 2)`` and ``f(1,,,a => 2)``.
        """
        if self.kind is None or self.key is not None:
            return False
        args = self.args
        return (
            not args or args[-1].__class__ is not ast.Empty or (len(args) > 1 and args[-2].__class__ is not ast.Empty)
        )


class _Parser:
    """One run over one text."""

    def __init__(self, text: str, dialect: ParserDialect, max_depth: int) -> None:
        self.text = text
        self.dialect = dialect
        self.max_depth = max_depth
        #: Operands read so far and, beside each, where it begins with the parentheses around it.
        self.operands: list[ast.Node] = []
        self.begins: list[int] = []
        self.pending: list[_Pending] = [_FLOOR]
        self.bracket = _Bracket(None, "", 0)
        self.outer: list[_Bracket] = []
        #: Brackets, prefix operators and right-associative operators that are open.
        self.depth = 0
        #: "." or "?." if that was the last token; its left side is the last operand.
        self.dot = ""
        #: End of the last token.
        self.end = 0

    def parse(self) -> ast.Node:
        text = self.text
        scan = scanner(self.dialect.murano).match
        operator_level = self.dialect.binary.get
        operands = self.operands
        begins = self.begins
        pending = self.pending
        position = count = 0
        state = _OPERAND
        while True:
            found = scan(text, position)
            if found is None:
                raise illegal_character(text, position)
            group = found.lastindex or END
            start, position = found.span(group)
            piece = found[group]
            # Variables and binary operators are most of any text: they are taken here, without a call.
            if state is _OPERAND:
                if group == VARIABLE and not self.dot:
                    operands.append(ast.Variable(span=ast.Span(start, position), name=piece[1:] or "1"))
                    begins.append(start)
                    state = _OPERATOR
                else:
                    state = self.operand(group, piece, start, position)
                    if group == FUNCTION:
                        position += 1  # the bracket, which is part of the token for all that follows
            elif (group == SYMBOL or group == WORD) and (level := operator_level(piece)):  # noqa: SIM109 - faster
                bound = level
                if piece in RIGHT_ASSOCIATIVE:
                    bound += 1
                    self.deeper(start)
                if pending[-1][0] >= bound:
                    self.reduce(bound)
                if level == DOT_LEVEL:
                    self.dot = piece
                else:
                    pending.append((level, piece, -1))
                state = _OPERAND
            elif group != END:
                state = self.after(group, piece, start, position)
            else:
                break
            self.end = position
            count += 1
        if self.outer:
            self.unexpected_end()
        self.reduce(1)
        root = operands[0]
        if count > MAX_TREE_DEPTH:  # fewer tokens can't make a tree so deep
            self.check_tree_depth(root)
        return root

    # What may stand where an operand begins

    def operand(self, group: int, piece: str, start: int, end: int) -> bool:
        """Takes a token where an operand has to begin; says what has to come next."""
        if group == WORD:
            return self.word(piece, start, end)
        if group == FUNCTION:
            self.open_call(piece, start)
            return _OPERAND
        if group == END:
            self.unexpected_end()
        if group == SYMBOL:
            return self.symbol(piece, start, end)
        self.settle_dot()
        if group == VARIABLE:
            self.push(ast.Variable(span=ast.Span(start, end), name=piece[1:] or "1"), start)
        else:
            value = token_value(self.text, group, piece, start)
            self.push(ast.Constant(span=ast.Span(start, end), value=value), start)
        return _OPERATOR

    def word(self, piece: str, start: int, end: int) -> bool:
        if piece in CONSTANTS:
            self.settle_dot()
            self.push(ast.Constant(span=ast.Span(start, end), value=CONSTANTS[piece]), start)
        elif piece in self.dialect.prefix:
            self.open_prefix(piece, start)
            return _OPERAND
        elif piece in self.dialect.binary:
            self.unexpected(piece, start)
        elif self.dot and not self.colon_follows(end):
            operands = self.operands
            operands[-1] = ast.Attribute(
                span=ast.Span(self.begins[-1], end), receiver=operands[-1], name=piece, safe=self.dot == "?."
            )
            self.dot = ""
        else:
            self.settle_dot()
            self.push(ast.Constant(span=ast.Span(start, end), value=piece, bare=True), start)
        return _OPERATOR

    def symbol(self, piece: str, start: int, end: int) -> bool:
        if piece == "(":
            self.settle_dot()
            self.open(_Bracket(None, ")", start))
        elif piece == "[":
            self.settle_dot()
            self.open(_Bracket(ast.ListDisplay, "]", start))
        elif piece == "{":
            self.settle_dot()
            self.open(_Bracket(ast.MapDisplay, "}", start))
        elif piece in self.dialect.prefix:
            self.open_prefix(piece, start)
        else:
            bracket = self.bracket
            # An argument is left out, or there are none at all: only where nothing of it was read yet.
            fresh = bracket.kind is not None and self.pending[-1] is _FLOOR and not self.dot and bracket.key is None
            if fresh and piece == "," and not bracket.named:
                bracket.args.append(ast.Empty(span=ast.Span(start, start)))
            elif fresh and piece == bracket.close and not bracket.args:
                self.close(end)
                return _OPERATOR
            else:
                self.unexpected(piece, start)
        return _OPERAND

    def open_call(self, name: str, start: int) -> None:
        bracket = _Bracket(ast.Call, ")", start)
        bracket.name = name
        if self.dot:
            bracket.kind = ast.MethodCall
            bracket.safe = self.dot == "?."
            self.take_receiver(bracket)
            self.dot = ""
        self.open(bracket)

    def open_prefix(self, operator: str, start: int) -> None:
        self.settle_dot()
        self.deeper(start)
        self.pending.append((self.dialect.prefix[operator], operator, start))

    def settle_dot(self) -> None:
        """Makes the dot before this operand an ordinary operator, as this is neither a word nor a call."""
        if self.dot:
            self.pending.append((DOT_LEVEL, self.dot, -1))
            self.dot = ""

    def colon_follows(self, position: int) -> bool:
        """Whether ``:`` takes the name before ``position`` away from the dot in front of it."""
        return self.dialect.murano and _COLON_FOLLOWS(self.text, position) is not None

    # What may follow an operand, besides binary operators

    def after(self, group: int, piece: str, start: int, end: int) -> bool:
        """Takes a token that follows an operand and is no operator; says what has to come next."""
        if group == SYMBOL:
            bracket = self.bracket
            if piece == bracket.close:
                if bracket.kind is not None:
                    self.end_argument(piece, start)
                self.close(end)
                return _OPERATOR
            if piece == "," and bracket.kind is not None:
                self.end_argument(piece, start)
                return _OPERAND
            if piece == "[":
                self.open_postfix(_Bracket(ast.Index, "]", start))
                return _OPERAND
            if piece == "(" and self.dialect.delegates:
                self.open_postfix(_Bracket(ast.Invoke, ")", start))
                return _OPERAND
            if piece == "=>" and bracket.takes_pair():
                self.reduce(1)
                bracket.key = self.operands.pop()
                bracket.key_begin = self.begins.pop()
                return _OPERAND
        self.unexpected(token_value(self.text, group, piece, start), start)

    def end_argument(self, piece: str, start: int) -> None:
        bracket = self.bracket
        self.reduce(1)
        argument = self.operands.pop()
        self.begins.pop()
        if bracket.key is not None:
            span = ast.Span(bracket.key_begin, self.end)
            bracket.args.append(ast.Pair(span=span, key=bracket.key, value=argument))
            bracket.key = None
            bracket.named = True
        elif bracket.named:
            self.unexpected(piece, start)
        else:
            bracket.args.append(argument)

    def open_postfix(self, bracket: _Bracket) -> None:
        self.reduce(POSTFIX_LEVEL)
        self.take_receiver(bracket)
        self.open(bracket)

    # Brackets and operators

    def push(self, node: ast.Node, begin: int) -> None:
        self.operands.append(node)
        self.begins.append(begin)

    def take_receiver(self, bracket: _Bracket) -> None:
        bracket.receiver = self.operands.pop()
        bracket.begin = self.begins.pop()

    def open(self, bracket: _Bracket) -> None:
        self.deeper(bracket.start)
        self.outer.append(self.bracket)
        self.bracket = bracket
        self.pending.append(_FLOOR)

    def close(self, end: int) -> None:
        """Turns the innermost bracket, whose last argument is complete, into an operand."""
        bracket = self.bracket
        self.reduce(1)
        self.pending.pop()
        self.bracket = self.outer.pop()
        self.depth -= 1
        kind = bracket.kind
        if kind is None:
            self.begins[-1] = bracket.start
            return
        args = tuple(bracket.args)
        receiver = bracket.receiver
        span = ast.Span(bracket.begin, end)
        node: ast.Node
        if receiver is None:
            if kind is ast.Call:
                node = ast.Call(span=span, name=bracket.name, args=args)
            elif kind is ast.ListDisplay:
                node = ast.ListDisplay(span=span, args=args)
            else:
                node = ast.MapDisplay(span=span, args=args)
        elif kind is ast.Index:
            node = ast.Index(span=span, receiver=receiver, args=args)
        elif kind is ast.Invoke:
            node = ast.Invoke(span=span, target=receiver, args=args)
        elif self.colon_follows(end):
            self.push(receiver, bracket.begin)
            self.pending.append((DOT_LEVEL, "?." if bracket.safe else ".", -1))
            self.push(ast.Call(span=ast.Span(bracket.start, end), name=bracket.name, args=args), bracket.start)
            return
        else:
            node = ast.MethodCall(span=span, receiver=receiver, name=bracket.name, args=args, safe=bracket.safe)
        self.push(node, bracket.begin)

    def reduce(self, level: int) -> None:
        """Gives the waiting operators of ``level`` and above their right side: the last operand."""
        pending = self.pending
        while pending[-1][0] >= level:
            _, operator, start = pending.pop()
            right = self.operands[-1]
            if start >= 0:
                self.operands[-1] = ast.Unary(span=ast.Span(start, self.end), op=operator, operand=right)
                self.begins[-1] = start
                self.depth -= 1
            else:
                self.operands.pop()
                self.begins.pop()
                left = self.operands[-1]
                span = ast.Span(self.begins[-1], self.end)
                self.operands[-1] = ast.Binary(span=span, op=operator, left=left, right=right)
                if operator in RIGHT_ASSOCIATIVE:
                    self.depth -= 1

    # Refusals

    def deeper(self, start: int) -> None:
        self.depth += 1
        if self.depth > self.max_depth:
            self.too_deep(self.max_depth, start)

    def check_tree_depth(self, root: ast.Node) -> None:
        row = [root]
        for _ in range(MAX_TREE_DEPTH):
            row = [child for node in row for child in _below(node)]
            if not row:
                return
        self.too_deep(MAX_TREE_DEPTH, row[0].span.start)

    def too_deep(self, levels: int, start: int) -> NoReturn:
        raise GrammarError(
            Text("expression is nested deeper than {levels} levels", levels=levels), position=start, text=self.text
        )

    def unexpected(self, value: object, start: int) -> NoReturn:
        message = Text(
            "Parse error: unexpected '{value}' at position {start} of expression '{text}'",
            value=value,
            start=start,
            text=self.text,
        )
        error = GrammarError(message, value=value, position=start, text=self.text)
        error.hint = hint_for(self.text, start)
        raise error

    def unexpected_end(self) -> NoReturn:
        raise GrammarError(Text("Parse error: unexpected end of statement"), text=self.text)


def _below(node: ast.Node) -> tuple[ast.Node, ...]:
    """The direct sub-expressions; leaves, most of a long expression, are settled first."""
    if isinstance(node, (ast.Constant, ast.Variable, ast.Empty)):
        return ()
    return tuple(ast.children(node))
