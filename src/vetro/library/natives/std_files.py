"""``io.vetro.std.File``: files between people and servers, part by part, however large they are.

Each part is a plan of its own. What it carries is put in, or taken out, where plans are sent (effect ``agent.call``
with ``part``), so that neither this process nor the journal holds more than how far it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vetro.library.natives.agent import AgentException, AgentLine, next_stamp
from vetro.library.natives.common import whole
from vetro.library.natives.plans import build_plan
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FDict, freeze

#: Bytes of a part, and its seconds: a server that is busy reads and writes them slowly.
PART, SECONDS = 4 << 20, 600
#: Bytes of a file at most, whoever says that it has more.
LARGEST = 1 << 50
_SHA256 = re.compile("[0-9a-f]{64}")

_BODY = """\
import json
pieces('', json.dumps(dict(args.given, data=args.data)))
with open('pieces/answer.json', encoding='utf-8') as answer:
    return json.load(answer)
"""


class File:
    """Parts of files."""

    @method("_receive", params=(Param("agent", Type.ANY), Param("given", Type.DICT)), static=True)
    def receive(cx: Any, agent: Any, given: Any) -> bool:
        """Has a server write a file of people (``file``, ``size``, ``sha256``) to ``path``; whether it had to."""
        line, about = AgentLine(cx, whole(agent)), dict(given)
        there = _ask(cx, line, "look", about)
        if there is None or there.get("same"):
            return bool(there and there.get("changed"))
        at, size = 0, int(about["size"])
        while at < size:
            part = {"send": about["file"], "offset": at, "size": min(PART, size - at)}
            _ask(cx, line, "put", {**about, "at": at}, part)
            at += part["size"]
        _ask(cx, line, "finish", about)
        return True

    @method("_offer", params=(Param("agent", Type.ANY), Param("path", Type.STR)), static=True)
    def offer(cx: Any, agent: Any, path: str) -> Any:
        """Brings a file of a server to people: {file, size, sha256}. Where nothing is executed it is empty."""
        line, file = AgentLine(cx, whole(agent)), cx.session.new_id()
        there = _ask(cx, line, "stat", {"path": path})
        if there is None:
            return freeze({"file": file, "size": 0, "sha256": ""})
        at, size, sha256 = 0, there.get("size"), str(there.get("sha256"))
        if not isinstance(size, int) or not 0 <= size <= LARGEST or not _SHA256.fullmatch(sha256):
            raise _nonsense(f"the server does not say how large '{path}' is", there)
        while at < size:
            most = min(PART, size - at)
            given = {"path": path, "mark": there.get("mark"), "at": at, "most": most}
            _ask(cx, line, "get", given, {"keep": file, "offset": at, "size": most})
            at += most
        return freeze({"file": file, "size": size, "sha256": sha256})


def _ask(
    cx: Any, line: AgentLine, do: str, given: Mapping[str, Any], part: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """What the program answers; None where nothing is executed. Raises `AgentException` for what is no answer of it."""
    name = given["path"].rpartition("/")[2]
    title = {"look": f"File {name}", "stat": f"Read {name}"}.get(do, f"Part of {name}")
    template = FDict({
        "FormatVersion": "2.1.0",
        "Name": title,
        "Parameters": {"given": {"do": do, **given}, "data": ""},
        "Body": _BODY,
        "Scripts": {"pieces": {"Type": "Application", "EntryPoint": "pieces.py", "Files": (), "Options": {
            "captureStdout": True, "captureStderr": True, "verifyExitcode": True}}},
    })  # fmt: skip
    package = cx.resolve("io.vetro.std.File").package
    answer = line.call(build_plan(template, package, cx.session.new_id, next_stamp(cx)), SECONDS, part)
    if answer is not None and not isinstance(answer, Mapping):
        raise _nonsense(f"what the server answered about '{given['path']}' is no answer", answer)
    return answer


def _nonsense(text: str, answer: Any) -> AgentException:
    return AgentException(text, {"message": text, "details": answer})


__all__ = ["File"]
