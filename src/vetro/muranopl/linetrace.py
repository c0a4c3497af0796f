"""Which lines of MuranoPL ran: executable lines of compiled classes and a tracer that notes the executed ones.

Used by `vetro test --coverage`; `vetro.muranopl.coverage` offers the same to the coverage package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from vetro.muranopl.types import MuranoType


def code_lines(code: CodeType) -> set[int]:
    """Lines of a code object and of those nested in it, without the line of the ``def`` itself."""
    lines = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            lines |= {line for _, _, line in constant.co_lines() if line is not None}
            lines |= code_lines(constant)
    return lines


def executable_lines(kind: MuranoType) -> dict[str, set[int]]:
    """File -> lines with code, over all methods that the class itself declares in MuranoPL."""
    found: dict[str, set[int]] = {}
    for method in kind.own_methods.values():
        if method.decl is None or method.native is not None:
            continue
        code = method.function.__code__
        body = {i.position.line for i in _instructions(method.decl.body)}
        found.setdefault(code.co_filename, set()).update(body)
    return found


def _instructions(block: Any) -> Iterator[Any]:
    from vetro.muranopl.compiler.variables import walk_instructions
    from vetro.muranopl.declarations import Do, Parallel, Try

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
