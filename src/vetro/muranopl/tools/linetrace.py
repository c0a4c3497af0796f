"""Which lines of MuranoPL ran: executable lines of compiled classes and a tracer that notes the executed ones.

Used by `vetro test --coverage`; `vetro.muranopl.tools.coverage` offers the same to the coverage package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import unwrap
from types import FrameType
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.compiler.variables import walk_instructions
from vetro.muranopl.declarations.tree import Do, Parallel, Try
from vetro.muranopl.tools.fixtures import FIXTURE
from vetro.muranopl.types.murano_type import MuranoType
from vetro.yaql.errors import VetroError


@dataclass(frozen=True, slots=True)
class CoveredFile:
    """One class file: the lines on which an instruction begins, and those of them that did not run."""

    name: str
    lines: frozenset[int]
    missing: frozenset[int]

    @property
    def percent(self) -> float:
        """Share of the lines that ran; a file without code is covered."""
        return 100.0 * (len(self.lines) - len(self.missing)) / len(self.lines) if self.lines else 100.0


def covered_files(session: Any, packages: Iterable[Any], executed: Mapping[str, set[int]]) -> list[CoveredFile]:
    """What ran of the classes of ``packages``, by file name; test fixtures themselves do not count.

    A class that cannot be loaded has no lines here.
    """
    base = session.types.core(FIXTURE)
    known: dict[str, set[int]] = {}
    for package in packages:
        for name in package.classes:
            try:
                kind = session.types.in_package(package, name)
                found = {} if kind.derives_from(base) else executable_lines(kind)
            except VetroError:
                continue
            for file, lines in found.items():
                known.setdefault(file, set()).update(lines)
    return [
        CoveredFile(file, frozenset(lines), frozenset(lines - executed.get(file, set())))
        for file, lines in sorted(known.items())
        if lines
    ]


def ranges(lines: Iterable[int]) -> str:
    """``3, 5-7`` for a set of lines."""
    runs: list[list[int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def executable_lines(kind: MuranoType) -> dict[str, set[int]]:
    """File -> lines with code, over all methods that the class itself declares in MuranoPL."""
    found: dict[str, set[int]] = {}
    for method in kind.own_methods.values():
        if method.decl is None or method.native is not None:
            continue
        code = unwrap(method.function).__code__
        body = {i.position.line for i in _instructions(method.decl.body)}
        found.setdefault(code.co_filename, set()).update(body)
    return found


def _instructions(block: Any) -> Iterator[Any]:
    for instruction in walk_instructions(block):
        if not isinstance(instruction, (Do, Parallel, Try)):
            yield instruction


class LineTracer:
    """Notes executed lines of generated code: ``executed[file]`` is a set of lines."""

    def __init__(self) -> None:
        self.executed: dict[str, set[int]] = {}

    def _global(self, frame: FrameType, event: str, argument: Any) -> Any:
        if "__murano__" not in frame.f_globals:
            return None
        lines = self.executed.setdefault(frame.f_code.co_filename, set())

        def local(inner: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(inner.f_lineno)
            return local

        return local

    @contextmanager
    def active(self) -> Iterator[None]:
        """Traces this thread inside the block."""
        before = sys.gettrace()
        sys.settrace(self._global)
        try:
            yield
        finally:
            sys.settrace(before)
