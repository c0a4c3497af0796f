"""Rendering of errors for people: message, place in the package with a caret, calls that led there, fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.yaql.errors import kind_of


def frame_lines(error: BaseException) -> list[str]:
    """The MuranoPL calls that led to the error, outermost first."""
    frames = getattr(error, "murano_frames", ())
    lines = []
    for frame in frames[-12:]:
        line, column, _, _ = frame.place
        lines.append(f"  at {frame.owner.name}::{frame.code.co_name} ({frame.code.co_filename}:{line}:{column})")
    if len(frames) > 12:
        lines.insert(0, f"  … {len(frames) - 12} outer calls")
    return lines


def with_position(error: BaseException) -> BaseException:
    """Gives an error raised while code ran the place of its innermost MuranoPL frame."""
    frames = getattr(error, "murano_frames", ())
    if getattr(error, "position", None) is None and frames:
        from vetro.muranopl.declarations import Position

        frame = frames[-1]
        line, column, end_line, end_column = frame.place
        try:
            error.position = Position(frame.code.co_filename, line, max(column, 1), end_line, end_column)  # type: ignore[attr-defined]
        except AttributeError:
            return error  # built-in exceptions of C have no room; the frames still say where
    return error


def render_error(error: BaseException, sources: Callable[[str], str | None] | None, *, color: bool) -> str:
    """The whole text for one error."""
    from vetro.muranopl.render import render

    with_position(error)
    position: Any = getattr(error, "position", None)
    text = sources(position.file) if sources is not None and position is not None else None
    rendered = render(error, text, color=color)
    calls = frame_lines(error)
    if len(calls) > 1:
        rendered += "\n" + "\n".join(["calls:", *calls])
    return rendered


def summary(error: BaseException) -> str:
    """One line: kind and message."""
    return f"{kind_of(error)}: {getattr(error, 'message', None) or error}"
