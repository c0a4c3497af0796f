"""``io.murano.Exception`` and ``io.murano.StackTrace`` (SEMANTICS 10.3, 10.7; CORE_LIBRARY.md, StackTrace)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.library.natives.common import whole
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.runtime.exceptions import ExceptionValue, frames_of, names_of
from vetro.muranopl.runtime.stacktrace import describe_frame
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type


def _place(entry: Mapping[str, Any]) -> str:
    found = entry.get("location")
    if not isinstance(found, Mapping) or not found.get("filePath"):
        return "<unknown>"
    text = f'File "{found["filePath"]}"'
    if found.get("line"):
        text += f", line {found['line']}" + (f":{found['column']}" if found.get("column") else "")
    return text


def format_frames(frames: Iterable[Mapping[str, Any]], prefix: str = "") -> str:
    """Two lines a frame: place with method and type, then the instruction; each begins with the prefix."""
    lines: list[str] = []
    for entry in frames:
        where = _place(entry)
        if entry.get("methodName"):
            where += f" in method {entry['methodName']}"
            if entry.get("typeName"):
                where += f" of type {entry['typeName']}"
        lines.append(f"{prefix}{where}")
        lines.append(f"{prefix}    {entry.get('instruction') or ''}")
    return "\n".join(lines)


def trace_text(cx: Any, trace: Any, prefix: str = "") -> str:
    """``toString`` of a StackTrace object."""
    frames = getattr(whole(trace), "p_frames", None) or ()
    cx.rt.check_memory(sum(len(str(entry.get("instruction"))) + len(prefix) + 100 for entry in frames))
    return format_frames(frames, prefix)


def _read(cx: Any, exception: Any, name: str) -> Any:
    """A property of an Exception object, or of the value that Catch binds; null where it has none."""
    if "p_" + name in dir(exception):
        return getattr(exception, "p_" + name, None)
    try:
        return exception.yaql_attribute(name, cx)
    except MuranoError:
        return None


def _next(cx: Any, exception: Any) -> Any:
    """The cause: another Exception object, or a bare error behind the value that Catch binds."""
    if isinstance(exception, BaseException):
        return getattr(exception, "cause", None)
    if isinstance(exception, ExceptionValue):
        return getattr(exception.error, "cause", None)
    return whole(_read(cx, exception, "cause"))


def _paragraph(cx: Any, exception: Any) -> str:
    if isinstance(exception, BaseException):
        value = getattr(exception, "value", None)
        return f"{names_of(exception)[0]}: {exception if value is None else value}"
    text = f"{_read(cx, exception, 'name') or 'exception'}: {_read(cx, exception, 'message')}"
    trace = _read(cx, exception, "stackTrace")
    return text if trace is None else text + "\n" + trace_text(cx, trace, "  ")


def exception_text(cx: Any, exception: Any) -> str:
    """``toString`` of an exception: name, message and stack trace, then those of its causes."""
    parts: list[str] = []
    seen: set[int] = set()
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        parts.append(_paragraph(cx, exception))
        exception = _next(cx, exception)
    return "\ncaused by ".join(parts)


class ExceptionMethods:
    """``toString``."""

    @method("toString")
    def to_string(cx: Any, this: Any) -> str:
        """Name, message and stack trace as text."""
        return exception_text(cx, whole(this))


class StackTraceMethods:
    """The constructor's work and ``toString``."""

    def created(cx: Any, this: Any) -> None:
        """A trace made by ``new`` holds the frames of the code that makes it."""
        if getattr(this, "p_frames", None) is None:
            calls = frames_of(Exception(), sys._getframe())
            this.p_frames = tuple(describe_frame(call) for call in calls)

    @method("toString", params=(Param("prefix", Type.STR, ""),), public=True)
    def to_string(cx: Any, this: Any, prefix: str = "") -> str:
        """Two lines a frame, each beginning with ``prefix``; frames of native methods are left out."""
        return trace_text(cx, this, prefix)
