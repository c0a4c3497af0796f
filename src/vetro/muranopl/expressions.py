"""Values written in YAML, whose scalars may be expressions (SEMANTICS 1.2, 1.6), with their places."""

from __future__ import annotations

from typing import Any, Union

from vetro.data_classes import dataclass
from vetro.yaql import ast


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a package file. ``line`` and ``column`` count from 1; ``end_*`` is exclusive, 0 when unknown."""

    file: str
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A scalar that is an expression (SEMANTICS 1.2).

    ``offsets`` tells where each character of ``text`` stands in the file: pairs (offset in text, (line, column));
    plain scalars folded over lines and quoted ones with escapes need more than one.
    """

    text: str
    node: ast.Node
    position: Position
    offsets: tuple[tuple[int, tuple[int, int]], ...] = ()

    def locate(self, offset: int) -> tuple[int, int]:
        """(line, column), both from 1, of the character at ``offset`` of the text."""
        line, column, base = self.position.line, self.position.column, 0
        for start, (at_line, at_column) in self.offsets:
            if start > offset:
                break
            line, column, base = at_line, at_column, start
        return line, column + (offset - base)


@dataclass(frozen=True, slots=True)
class Literal:
    """A frozen plain value; containers in it hold no expressions."""

    value: Any
    position: Position


@dataclass(frozen=True, slots=True)
class ListTemplate:
    """A YAML list with at least one expression inside."""

    items: tuple[Template, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class MapTemplate:
    """A YAML mapping with at least one expression inside; of equal keys the last wins at run time."""

    pairs: tuple[tuple[Template, Template], ...]
    position: Position


Template = Union[Literal, Expression, ListTemplate, MapTemplate]
