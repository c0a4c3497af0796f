"""The one place that draws an error for a person: where, the line of source with the spot marked, code, message, hint.

    error[MPL100]: If takes no 'Thenn'
      --> Classes/Main.yaml:11:9
       |
    11 |         Thenn: [$.run()]
       |         ^^^^^
       = hint: did you mean 'Then'?

Text that came from a package is shown without its control characters, so that it cannot steer the terminal.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.runtime.exceptions import frames_of
from vetro.muranopl.runtime.stacktrace import method_name
from vetro.visible import visible
from vetro.yaql.errors import ParsingError, kind_of

#: Longer lines are cut around the marked spot.
MAX_WIDTH: Final = 160
#: Longer messages and hints are cut: names in them come from packages.
MAX_TEXT: Final = 2_000
_TAB = "    "
_LINES = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_COLORS: Final = {"error": "1;31", "warning": "1;33", "gutter": "34", "hint": "36", "note": "32", "strong": "1"}


def render(
    error: BaseException, source_text: str | None = None, color: bool = False, package: str | None = None
) -> str:
    """``error`` as lines of text without a final line end.

    ``source_text`` is the text of the file that the error's position names; without it no source is drawn.
    ``package`` stands before the file name.
    """
    return "\n".join(_Renderer(color).error(error, source_text, package))


def format_trace(error: BaseException, source_text: str | None = None, color: bool = False) -> str:
    """`render`, and under it the MuranoPL calls that led to the error, innermost first."""
    calls = [
        f"  at {frame.owner.name}::{method_name(frame)} ({frame.code.co_filename}:{frame.place[0]})"
        for frame in reversed(frames_of(error))
    ]
    return "\n".join([render(error, source_text, color), *map(clean, calls)])


class _Renderer:
    def __init__(self, color: bool) -> None:
        self._color = color

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if self._color else text

    def error(self, error: BaseException, source: str | None, package: str | None) -> list[str]:
        severity = getattr(error, "severity", "error")
        severity = severity if severity in ("error", "warning") else "error"
        head = self._paint(f"{severity}[{code_of(error)}]", severity)
        message = clean(message_of(error)).split("\n")
        lines = [head + self._paint(f": {message[0]}", "strong"), *(f"  {line}" for line in message[1:])]
        where = getattr(error, "position", None)
        if isinstance(where, Position):
            width = len(str(where.line))
            prefix = f"{clean(package)} " if package else ""
            lines.append(" " * width + self._paint("--> ", "gutter") + prefix + clean(str(where)))
            lines += self._source(where, source, width)
        elif isinstance(error, ParsingError) and error.text:
            width = 1
            at = error.position if error.position is not None else len(error.text)
            lines += self._source(_in_text(error.text, at), error.text, width)
        else:
            width = 1
        pad = " " * (width + 1)
        hint = getattr(error, "hint", None)
        if hint:
            lines.append(pad + self._paint("= hint: ", "hint") + clean(hint).replace("\n", f"\n{pad}        "))
        for note in getattr(error, "__notes__", ()):
            lines.append(pad + self._paint("= note: ", "note") + clean(str(note)).replace("\n", f"\n{pad}        "))
        lines += [pad + self._paint("= cause: ", "note") + text for text in _causes(error)]
        return lines

    def _source(self, where: Position, source: str | None, width: int) -> list[str]:
        if source is None:
            return []
        all_lines = _LINES.split(source.removeprefix("\ufeff"))
        if not 1 <= where.line <= len(all_lines):
            return []
        text = all_lines[where.line - 1]
        start = min(where.column - 1, len(text))
        end = len(text.rstrip())
        if where.end_line == where.line and where.end_column:
            end = min(where.end_column - 1, len(text))
        elif not where.end_line:
            end = start + 1
        end = max(end, start + 1)
        text, start, end = _window(text, start, end)
        before, marked = _shown(text[:start]), _shown(text[start:end])
        carets = " " * _width(before) + "^" * max(_width(marked), 1)
        bar = self._paint("|", "gutter")
        number = self._paint(str(where.line).rjust(width), "gutter")
        shown = (before + marked + _shown(text[end:])).rstrip()
        empty = f"{' ' * width} {bar}"
        return [empty, f"{number} {bar} {shown}".rstrip(), f"{empty} {self._paint(carets, 'error')}"]


def code_of(error: BaseException) -> str:
    """The stable code of an error; host exceptions have their kind instead."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else kind_of(error)


def message_of(error: BaseException) -> str:
    """The text of an error without class name and position."""
    message = getattr(error, "message", None)
    if isinstance(message, str):
        return message
    if isinstance(error, KeyError) and error.args:  # Python's text is nothing but the key
        return f"there is no key {error.args[0]!r}"
    if isinstance(error, MemoryError):
        return "this needs more memory than there is"
    if isinstance(error, IndexError):  # lists are tuples inside
        return str(error).replace("tuple index", "list index") or "list index out of range"
    return str(error) or type(error).__name__


def _causes(error: BaseException) -> list[str]:
    """One line for each error behind this one, nearest first."""
    found: list[str] = []
    seen = {id(error)}
    while True:
        cause: Any = getattr(error, "cause", None)
        cause = cause if isinstance(cause, BaseException) else error.__cause__
        if cause is None or id(cause) in seen:
            return found
        seen.add(id(cause))
        where = getattr(cause, "position", None)
        place = f" ({where})" if isinstance(where, Position) else ""
        found.append(clean(f"[{code_of(cause)}] {message_of(cause)}{place}").replace("\n", " "))
        error = cause


def _in_text(text: str, offset: int) -> Position:
    before = _LINES.split(text[:offset])
    return Position("", len(before), len(before[-1]) + 1)


def _window(text: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a long line around the marked spot."""
    if len(text) <= MAX_WIDTH:
        return text, start, end
    begin = max(0, min(start - MAX_WIDTH // 4, len(text) - MAX_WIDTH))
    cut = text[begin : begin + MAX_WIDTH]
    lead, tail = ("… " if begin else ""), ("…" if begin + MAX_WIDTH < len(text) else "")
    start, end = start - begin + len(lead), min(end - begin, len(cut)) + len(lead)
    return lead + cut + tail, start, max(end, start + 1)


def clean(text: str) -> str:
    """``text`` without the characters that could steer a terminal."""
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + "…"
    return visible(text, lambda char: "�")


def _shown(text: str) -> str:
    return clean(text.replace("\t", _TAB))


def _width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
