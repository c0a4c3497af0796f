"""``$e.stackTrace``: frames of a caught exception as MuranoPL sees them (SEMANTICS 10.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vetro.muranopl.runtime.exceptions import Frame
from vetro.yaql.values import FDict


def describe_frame(frame: Frame) -> FDict:
    """``{instruction, methodName, typeName, location}`` of one frame."""
    line, column, end_line, end_column = frame.place
    file = frame.code.co_filename
    return FDict(
        {
            "instruction": instruction_text(frame, line, column, end_line, end_column),
            "methodName": method_name(frame),
            "typeName": frame.owner.name,
            "location": FDict({"filePath": file, "line": line, "column": column}),
        }
    )


def method_name(frame: Frame) -> str:
    """Name of the MuranoPL method a code object was made from."""
    name = frame.code.co_qualname.partition(".")[0]  # a branch of `Parallel` is a function inside of the method's
    if name in ("init", "destroy") and f".{name}" in frame.owner.own_methods and name not in frame.owner.own_methods:
        return f".{name}"
    return name


def instruction_text(frame: Frame, line: int, column: int, end_line: int, end_column: int) -> str:
    """Source text of the expression; ``block construct`` where a keyword instruction is running."""
    try:
        text = frame.owner.package.read_class(frame.owner.name)[0]
    except Exception:
        return "block construct"
    lines = text.split("\n")
    if not 0 < line <= len(lines) or (end_line, end_column) <= (line, column):
        return "block construct"
    if end_line == line:
        return str(lines[line - 1][column - 1 : end_column - 1]).strip()
    parts = [
        lines[line - 1][column - 1 :],
        *lines[line : end_line - 1],
        lines[min(end_line, len(lines)) - 1][: end_column - 1],
    ]
    return " ".join(p.strip() for p in parts)


def stack_trace_value(session: Any, frames: Sequence[Frame]) -> Any:
    """An object of class io.murano.StackTrace with these frames."""
    kind = session.types.core("io.murano.StackTrace")
    described = tuple(describe_frame(f) for f in frames)
    obj = session.store.create(kind, {}, None, None)
    obj.p_frames = described
    return obj
