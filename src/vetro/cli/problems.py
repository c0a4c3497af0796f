"""Rendering of errors for people: message, place in the package with a caret, calls that led there, fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.cli.stored_text import stored_text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.tools.render import render
from vetro.visible import visible

__all__ = ["frame_lines", "render_error", "render_problem", "stored_text", "with_position"]

Sources = Callable[[str], str | None]

#: Calls shown of a long chain: the first ones say where it began, the last ones where it broke.
FIRST, LAST = 3, 9
#: Codes of findings about a whole folder or archive: there is no line to show.
NO_TEXT = frozenset({"PKG100", "PKG101", "PKG130"})


def frame_lines(error: BaseException) -> list[str]:
    """The MuranoPL calls that led to the error, outermost first."""
    lines: list[str] = []
    for frame in getattr(error, "murano_frames", ()):
        line, column, _, _ = frame.place
        called = frame.code.co_qualname.partition(".<locals>")[0]  # of a lambda or a branch: its method
        lines.append(visible(f"  at {frame.owner.name}::{called} ({frame.code.co_filename}:{line}:{column})"))
    if len(lines) > FIRST + LAST + 1:
        lines[FIRST:-LAST] = [f"  … {len(lines) - FIRST - LAST} calls between"]
    return lines


def with_position(error: BaseException) -> Any:
    """The place of an error; one raised while code ran gets that of its innermost MuranoPL frame."""
    frames = getattr(error, "murano_frames", ())
    if not isinstance(getattr(error, "position", None), Position) and frames:
        frame = frames[-1]
        line, column, end_line, end_column = frame.place
        error.position = Position(frame.code.co_filename, line, max(column, 1), end_line, end_column)  # type: ignore[attr-defined]
    return getattr(error, "position", None)


def render_error(error: BaseException, sources: Sources | None, *, color: bool) -> str:
    """The whole text for one error; for a package with several problems, all of them."""
    problems = getattr(error, "problems", None)
    if problems:
        return "\n\n".join(render_problem(p, sources, color=color) for p in problems)
    position = with_position(error)
    text = (sources or stored_text)(position.file) if isinstance(position, Position) else None
    rendered = render(error, text, color=color)
    calls = frame_lines(error)
    if len(calls) > 1:
        rendered += "\n" + "\n".join(["calls, outermost first:", *calls])
    return rendered


def render_problem(problem: Any, sources: Sources | None, *, color: bool) -> str:
    """One finding of `vetro check`, drawn like an error."""
    error = MuranoError(problem.message, position=problem.place, hint=problem.hint)
    error.severity = problem.severity
    error.code = problem.code  # type: ignore[misc]
    text = None if problem.code in NO_TEXT else (sources or stored_text)(problem.place.file)
    return render(error, text, color=color)
