"""`describe`: how a run failed, as plain data for people: message, hint, place in the package, calls that led there."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.diagnostics import Text, encode_messages
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import Thrown
from vetro.muranopl.runtime.exceptions import Frame, frames_of, names_of
from vetro.muranopl.runtime.stacktrace import describe_frame
from vetro.packages.texts import worded
from vetro.yaql.errors import LONGEST_MESSAGE, Stop, VetroError, kind_of
from vetro.yaql.values import thaw

#: Calls told of a long chain: the first ones say where it began, the last ones where it broke.
FIRST, LAST = 10, 40
#: Characters of a Python traceback.
LONGEST_TRACEBACK = 20_000
#: Characters of what a script wrote: its end, where it says why it failed.
LONGEST_OUTPUT = 4_000


def describe(error: BaseException) -> dict[str, Any]:
    """``{kind, code, message, hint, names, position, frames}`` of an error.

    ``position`` is ``{file, line, column}`` or null; ``frames`` are the MuranoPL calls, outermost first, each ``{file,
    line, column, class, method, instruction}``. A defect (a Python error that no package code caused) also has
    ``traceback``; an error of a script that ran on a server has ``output``: {exitCode, stdout, stderr}, the texts cut
    to their ends.
    """
    calls = frames_of(error)
    frames = [_frame(frame) for frame in _some(calls)]
    starved = isinstance(error, MemoryError)
    own = starved or isinstance(error, (VetroError, Stop))
    told: dict[str, Any] = {
        "kind": kind_of(error),
        "code": getattr(error, "code", None) or ("ENG304" if starved else None),
        "message": _worded(error, calls),
        "hint": Text("build less at once, or give the task more memory") if starved else getattr(error, "hint", None),
        "names": list(names_of(error)),
        "position": _position(error, frames),
        "frames": frames,
    }
    if not own and not frames:
        told["code"], told["kind"] = "ENG303", "defect"
        told["traceback"] = "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]
    if isinstance(error, Thrown) and (output := _output(error.extra)):
        told["output"] = output
    return encode_messages(told)  # type: ignore[no-any-return]


def _output(extra: Any) -> dict[str, Any]:
    """What a script wrote before it failed, from the details that its agent gave."""
    details = extra.get("details") if isinstance(extra, Mapping) else None
    if not isinstance(details, Mapping):
        return {}
    code = details.get("exitCode")
    told: dict[str, Any] = {"exitCode": code} if isinstance(code, int) else {}
    for name in ("stdout", "stderr"):
        text = details.get(name)
        if isinstance(text, str) and text.strip():
            told[name] = text if len(text) <= LONGEST_OUTPUT else "…" + text[-LONGEST_OUTPUT:]
    return told


def _worded(error: BaseException, calls: Sequence[Frame]) -> str:
    """The text for people; of what a package threw with the translations that it has."""
    message = message_of(error)
    if not isinstance(error, Thrown) or error.value != message or not calls:
        return message
    owner = calls[-1].owner
    return worded(message, owner.package, owner.name, calls[-1].place[0])


def message_of(error: BaseException) -> str:
    """The text for people, never longer than messages are."""
    if isinstance(error, MemoryError):
        return Text("the task ran out of memory")
    value = error.value if isinstance(error, Thrown) else getattr(error, "message", None)
    if value is None:
        value = str(error) or type(error).__name__
    text = value if isinstance(value, str) else str(thaw(value))
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


def _some(frames: Any) -> Any:
    return frames if len(frames) <= FIRST + LAST else (*frames[:FIRST], *frames[-LAST:])


def _frame(frame: Any) -> dict[str, Any]:
    told = describe_frame(frame)
    place = told["location"]
    return {
        "file": place["filePath"],
        "line": place["line"],
        "column": place["column"],
        "class": told["typeName"],
        "method": told["methodName"],
        "instruction": told["instruction"][:LONGEST_MESSAGE],
    }


def _position(error: BaseException, frames: list[dict[str, Any]]) -> dict[str, Any] | None:
    place = getattr(error, "position", None)
    if isinstance(place, Position):
        return {"file": place.file, "line": place.line, "column": place.column}
    if frames:
        return {key: frames[-1][key] for key in ("file", "line", "column")}
    return None
