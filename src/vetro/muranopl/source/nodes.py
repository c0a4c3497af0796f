"""YAML text -> trees of nodes that know where they stand.

libyaml composes the nodes (PyYAML's pure loader where libyaml is missing); the classes are PyYAML's own, so that
reading a file costs one object a node. What differs from ``yaml.compose``: ``tag`` of a scalar tells how it was written
(`PLAIN`, `TEXT`, `YAQL`) or, when the file states a standard tag, that tag; nothing is converted here. Dates stay the
text that was written and ``=`` is text, so neither breaks loading. ``<<`` merges as YAML says.

A file is refused with a position when it is no YAML, has a tag other than ``!yaql`` and YAML's own, is nested deeper
than `MAX_DEPTH`, expands to more than `MAX_NODES` nodes through aliases, refers to itself, repeats a key (unless
allowed) or is longer than `MAX_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import SourceError

#: A node: scalar, list or mapping.
YNode: TypeAlias = ScalarNode | SequenceNode | MappingNode
#: Called with every problem that does not stop loading.
Warn = Callable[[SourceError], None]

PLAIN: Final = "plain"
TEXT: Final = "text"
YAQL: Final = "!yaql"
STANDARD: Final = "tag:yaml.org,2002:"

MAX_DEPTH: Final = 200
MAX_NODES: Final = 1_000_000
MAX_BYTES: Final = 10 * 1024 * 1024

_HINTS = (
    (
        "mapping values are not allowed",
        Text(
            "': ' begins a mapping: give it lines of its own, quote what is text, write "
            '!yaql "…" around an expression'
        ),
    ),
    ("tab character", Text("indent with blanks, YAML allows no tabs there")),
    ("'\\t'", Text("indent with blanks, YAML allows no tabs there")),
    ("that cannot start any token", Text("quote text that begins with this character")),
    (
        "could not find expected ':'",
        Text("a key needs ': ' behind it; check the indentation of this line and the one above"),
    ),
    ("expected key", Text("check the indentation of this line")),
    ("expected <block end>", Text("check the indentation of this line")),
    ("expected '-' indicator", Text("check the indentation of this line")),
    (
        "did not find expected ',' or",
        Text("close the bracket; text with , [ ] {{ }} has to be quoted inside brackets"),
    ),
    ("end of stream", Text("close the quote or bracket that was opened here")),
    ("undefined alias", Text("quote text that begins with *")),
    ("anchor", Text("quote text that begins with & or *")),
    ("control characters", Text("save the file as UTF-8 text")),
    ("special characters", Text("save the file as UTF-8 text")),
)


class _Hooks:
    """What both composers call: how a scalar was written, and the depth while it is still harmless."""

    depth = 0
    file = ""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return PLAIN if kind is ScalarNode and implicit[0] else TEXT

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise SourceError(
                Text("nested deeper than {max_depth} levels", max_depth=MAX_DEPTH),
                position=position(parent, self.file) if parent is not None else None,
                hint=Text("no class needs that; move parts into methods or classes of their own"),
            )

    def ascend_resolver(self) -> None:
        self.depth -= 1


def _loader_class(pure: bool = False) -> type[Any]:
    if not pure and getattr(yaml, "__with_libyaml__", False):
        from yaml._yaml import CParser  # what yaml.cyaml re-exports

        class Loader(_Hooks, CParser):
            def __init__(self, text: str) -> None:
                CParser.__init__(self, text)

        return Loader

    class PureLoader(_Hooks, Reader, Scanner, Parser, Composer):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)

    return PureLoader


_LOADER = _loader_class()


def compose(text: str, file: str) -> list[YNode]:
    """The root nodes as they stand, unchecked. Raises `SourceError` for what is no YAML."""
    documents: list[YNode] = []
    try:
        loader = _LOADER(text)
        loader.file = file
        while loader.check_node():
            node = loader.get_node()
            if node is not None and not (node.__class__ is ScalarNode and node.tag == PLAIN and node.value == ""):
                documents.append(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Position(file, mark.line + 1, mark.column + 1) if mark is not None else Position(file, 1, 1)
        problem = error.problem or error.context or str(error)
        tab = mark is not None and text[mark.index : mark.index + 1] == "\t"
        refused = SourceError(
            Text("not valid YAML: {problem}", problem=problem),
            position=where,
            hint=_hint("tab character" if tab else problem, text[: mark.index] if mark is not None else ""),
        )
        if error.context and error.context_mark is not None:
            begin = error.context_mark
            refused.add_note(f"{error.context} that begins in line {begin.line + 1}, column {begin.column + 1}")
        raise refused from None
    except SourceError as error:
        raise error.with_traceback(None) from None  # of the depth check: its frames say nothing
    except yaml.reader.ReaderError as error:
        raise SourceError(
            Text("not valid YAML: {reason}", reason=error.reason),
            position=_place(text, file, error.position),
            hint=_hint(error.reason),
        ) from None
    except UnicodeEncodeError as error:
        raise SourceError(
            Text("not valid YAML: a character that no text may hold"),
            position=_place(text, file, error.start),
            hint=Text("save the file as UTF-8 text"),
        ) from None
    return documents


#: A value that YAML takes for a list or mapping: what comes behind its end does not belong to it.
_DISPLAY = re.compile(r"(?:^|: +|- +)([\[{]).*[\]}]\s*$")


def _hint(problem: str, before: str = "") -> str:
    begun = _DISPLAY.search(before.rpartition("\n")[2]) if "expected" in problem else None
    if begun is not None:
        return Text(
            "a value that begins with {bracket} ends where that closes: put it into a variable first, or write"
            ' !yaql "…" around the whole expression',
            bracket=begun[1],
        )
    for part, hint in _HINTS:
        if part in problem:
            return hint
    return Text("check quotes, brackets and indentation here and in the line above")


def _place(text: str, file: str, index: int) -> Position:
    before = text[: max(index, 0)]
    return Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def position(node: Node, file: str) -> Position:
    """Where ``node`` stands; of a node still being read the beginning only."""
    start, end = node.start_mark, node.end_mark
    if end is None:
        return Position(file, start.line + 1, start.column + 1)
    return Position(file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
