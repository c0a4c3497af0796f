"""What a scalar of a package file is: a plain value, text, or an expression (SEMANTICS 1.2).

Only plain scalars are candidates for expressions; YAML's own typing comes first. Each distinct text is classified once
a process, as the same contracts and keywords recur in every class; the memo is bounded.
"""

from __future__ import annotations

import re
from typing import Any

from yaml.constructor import SafeConstructor
from yaml.nodes import ScalarNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Expression, Position
from vetro.muranopl.errors import DslSyntaxError, SourceError
from vetro.muranopl.source.nodes import PLAIN, STANDARD, TEXT, YAQL, position
from vetro.muranopl.source.tags import implicit_tag
from vetro.yaql import ast
from vetro.yaql.errors import ParsingError
from vetro.yaql.lexer import MAX_DIGITS
from vetro.yaql.parser import MURANO, parse

_MEMO_SIZE = 50_000
_MEMO_TEXT = 1_000
_MAX_INTEGER_BITS = 16_384
_MISS: Any = object()
_MEMO: dict[str, Any] = {}
_CONSTRUCTOR = SafeConstructor()
_ONLY_WORDS = re.compile(r"[\w\s.]*").fullmatch
_CONSTRUCT = {
    STANDARD + "null": _CONSTRUCTOR.construct_yaml_null,
    STANDARD + "bool": _CONSTRUCTOR.construct_yaml_bool,
    STANDARD + "int": _CONSTRUCTOR.construct_yaml_int,
    STANDARD + "float": _CONSTRUCTOR.construct_yaml_float,
}
#: Runs of source characters that stand unchanged in the value, and what separates them.
_ESCAPES = {'"': re.compile(r"\\(?:x..|u.{4}|U.{8}|\r?\n|.)|\r?\n"), "'": re.compile(r"''|\r?\n")}
#: What the caret shows anyway.
_PLACE = re.compile(r"^(?:Parse|Lexical) error: | at position \d+(?: of expression '.*)?$", re.DOTALL)
_LINE_END = re.compile(r"\r?\n")


def plain_value(text: str) -> Any:
    """``text`` as YAML 1.1 types a plain scalar: null, bool, int, float or text. Dates stay text as written.

    Raises ValueError for a number of more than 16,384 bits or 4,300 characters, whatever this process' own limit is.
    """
    tag = implicit_tag(text)
    return text if tag is None else construct(tag, text)


def construct(tag: str, text: str) -> Any:
    """The value of ``text`` under YAML's tag; text where the tag is none of null, bool, int and float."""
    constructor = _CONSTRUCT.get(tag)
    if constructor is None:
        return text
    if len(text) > MAX_DIGITS:
        raise ValueError(Text("number is too long"))
    try:
        value = constructor(ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError):
        return text  # YAML's patterns let a few malformed numbers through, as 0b_ or ._
    except OverflowError:
        raise ValueError(Text("number is too large")) from None
    if value.__class__ is int and value.bit_length() > _MAX_INTEGER_BITS:
        raise ValueError(Text("number is too large"))
    return value


class ScalarReader:
    """Classifies the scalars of one file."""

    __slots__ = ("_memo", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._memo = _MEMO

    def read(self, node: ScalarNode) -> Any:
        """A plain value, text, or the `ast.Node` of an expression. Raises `SourceError`, `DslSyntaxError`."""
        if node.tag is PLAIN:
            text = node.value
            found = self._memo.get(text, _MISS)
            return found if found is not _MISS else self._classify(node, text)
        if node.tag is TEXT:
            return node.value
        return self._tagged(node)

    def expression(self, node: ScalarNode, tree: ast.Node) -> Expression:
        """The expression that `read` found in ``node``."""
        start, end = node.start_mark, node.end_mark
        where = Position(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
        if node.tag is PLAIN and start.line == end.line:
            return Expression(node.value, tree, where)
        return Expression(node.value, tree, where, self._offsets(node))

    def _classify(self, node: ScalarNode, text: str) -> Any:
        tag = implicit_tag(text)
        value: Any = text
        if tag is not None:
            try:
                value = construct(tag, text)
            except ValueError as error:
                raise SourceError(
                    str(error), position=position(node, self.file), hint=Text("quote it if it is text")
                ) from None
        elif not _ONLY_WORDS(text):
            try:
                value = parse(text, MURANO)
            except ParsingError:
                pass
        if len(text) <= _MEMO_TEXT:
            if len(self._memo) >= _MEMO_SIZE:
                self._memo.clear()
            self._memo[text] = value
        return value

    def _tagged(self, node: ScalarNode) -> Any:
        if node.tag == YAQL:
            try:
                return parse(node.value, MURANO)
            except ParsingError as error:
                raise self.syntax_error(node, error) from None
        try:
            return construct(node.tag, node.value)
        except ValueError as error:
            raise SourceError(str(error), position=position(node, self.file), hint=Text("use !!str for text")) from None

    def syntax_error(self, node: ScalarNode, error: ParsingError) -> DslSyntaxError:
        """The error for text that must be an expression and is none."""
        where = position(node, self.file)
        offset = error.position if error.position is not None else len(node.value)
        line, column = Expression(node.value, _NOTHING, where, self._offsets(node)).locate(offset)
        message = _PLACE.sub("", error.message)
        if "unexpected end" in message:
            hint = Text("something is missing at the end: a bracket, a quote or an operand")
        elif "illegal" in message:
            hint = Text("nothing begins with this character; text inside an expression stands in quotes")
        else:
            hint = Text("look before the mark: an operator, comma, quote or bracket is missing or too many")
        where = Position(self.file, line, column, line, column + 1)
        return DslSyntaxError(Text("not a valid expression: {message}", message=message), position=where, hint=hint)

    def parse_error(self, node: ScalarNode) -> ParsingError | None:
        """Why a plain scalar that looks like an expression is text; None when it needs no explanation."""
        text = node.value
        if node.tag is not PLAIN or _ONLY_WORDS(text):
            return None
        try:
            parse(text, MURANO)
        except ParsingError as error:
            return error
        return None

    def _offsets(self, node: ScalarNode) -> tuple[tuple[int, tuple[int, int]], ...]:
        """Where the runs of the value stand: folding, escapes, quotes and the tag shift them."""
        start, end = node.start_mark, node.end_mark
        source = self.text[start.index : end.index]
        style = node.style if node.style in ("'", '"', "|", ">") else ""
        at = 0
        if style:
            at = source.find(style) + 1
            if style in "|>":
                line_end = source.find("\n", at)
                at = line_end + 1 if line_end >= 0 else len(source)
            else:
                source = source[:-1] if source.endswith(style) else source
        elif source.startswith("!"):
            at = len(source.split(None, 1)[0]) if source.split(None, 1) else 0
        runs: list[tuple[int, int]] = []
        for match in _ESCAPES.get(style, _LINE_END).finditer(source, at):
            runs.append((at, match.start()))
            at = match.end()
        runs.append((at, len(source)))
        return tuple(self._align(node, source, runs))

    def _align(self, node: ScalarNode, source: str, runs: list[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
        result: list[tuple[int, tuple[int, int]]] = []
        line, line_start, counted = node.start_mark.line + 1, -node.start_mark.column, 0
        value, reached = node.value, 0
        for begin, stop in runs:
            line += source.count("\n", counted, begin)
            newline = source.rfind("\n", counted, begin)
            if newline >= 0:
                line_start = newline + 1
            counted = begin
            run = source[begin:stop]
            content = run.strip()
            found = value.find(content, reached) if content else -1
            if found < 0:
                continue
            begin += len(run) - len(run.lstrip())
            result.append((found, (line, begin - line_start + 1)))
            reached = found + len(content)
        return result


_NOTHING = ast.Constant(span=ast.Span(0, 0), value=None)
