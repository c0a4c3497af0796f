"""What answers questions about archives, inside of the walls (`vetro.engine.query.sandboxed_worker`).

It sees the archives that it is sent, may read the packages that these require, and writes its answers; code that it
compiled is part of them, since it can write no file. `pool` says whose questions one process gets.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from vetro.diagnostics import Text, encode_messages
from vetro.engine.installation import Installation
from vetro.muranopl.code_cache import file_of
from vetro.packages.archive import ArchiveLimits
from vetro.server.catalog.inspection import describe as describing
from vetro.server.catalog.inspection import markdown
from vetro.server.catalog.inspection import read as reading
from vetro.server.catalog.inspection.protocol import packed, received
from vetro.server.errors import Invalid

#: What other apps have answered here: name -> (question, blobs) -> (answer, blobs). `vetro.server.sandboxed_answers`.
OPERATIONS: dict[str, Callable[[dict[str, Any], list[bytes]], tuple[dict[str, Any], list[bytes]]]] = {}
#: Characters of what went wrong in here that are told.
_TRACE = 20_000


class Compiled:
    """A cache that reads where tasks read, and keeps what is new to be told.

    Of archives at the ``own`` locations it reads nothing: whoever brought them before may have left that there.
    """

    def __init__(self, installed: Any, own: Sequence[str]) -> None:
        self._installed = installed
        self._own = tuple(f"{location}/" for location in own)
        self.news: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """The value in either."""
        found: bytes | None = self.news.get(key)
        return self._installed.get(key) if found is None and not file_of(key).startswith(self._own) else found

    def put(self, key: str, data: bytes) -> None:
        """Keeps ``data``."""
        self.news[key] = data


def answerer(installation: Installation) -> Callable[[int], None]:
    """Answers the questions that come at a descriptor, until the other end is closed."""

    def answer(fd: int) -> None:
        with os.fdopen(fd, "rb", closefd=False) as given:
            while (found := received(given)) is not None:
                head, blobs = _answer(*found, installation)
                for part in packed(head, blobs):
                    view = memoryview(part)
                    while view:
                        view = view[os.write(fd, view) :]

    return answer


def preload() -> None:
    """Loads what would be loaded for each question anew."""
    importlib.import_module("vetro.forms.dynamic.load")
    markdown.tokens("# loaded")
    for name in ("x.yaml", "x.json", "x.py", "x.sh", "x.md"):
        describing.highlight("", name)


def _answer(
    question: dict[str, Any], blobs: list[bytes], installation: Installation
) -> tuple[dict[str, Any], list[bytes]]:
    try:
        limits = ArchiveLimits(**question.get("limits", {}))
        if question["op"] == "read":
            facts, data = reading.read(blobs[0], question["location"], limits, strict=question["strict"])
            return {"facts": facts}, [data] if data != blobs[0] else []
        if question["op"] == "describe":
            return {"described": describing.describe(blobs[0], question["location"], question["others"], limits)}, []
        if question["op"] == "highlight":
            return {"lines": describing.highlight(blobs[0].decode(), question["path"])}, []
        if question["op"] == "markdown":
            return {"tokens": markdown.tokens(blobs[0].decode())}, []
        if question["op"] in OPERATIONS:
            return _refusal_told(lambda: OPERATIONS[question["op"]](question, blobs))
        archives = list(zip(blobs, question["locations"], strict=True))
        cache = Compiled(installation.cache, question["locations"]) if question["compile"] else None
        checked = reading.check(archives, question["others"], cache, limits)
        news = {} if cache is None else cache.news
        return {"checked": checked, "compiled": list(news)}, list(news.values())
    except MemoryError:
        return encode_messages({"defect": Text("examining it took more memory than is allowed")}), []
    except RecursionError:
        return encode_messages({"defect": Text("it is nested too deeply")}), []
    except Exception as error:  # a defect of ours or of a plug-in: this package is refused
        trace = "".join(traceback.format_exception(error))[-_TRACE:]
        text = Text("it could not be examined ({name})", name=type(error).__name__)
        return encode_messages({"defect": text, "trace": trace}), []


def _refusal_told(ask: Callable[[], tuple[dict[str, Any], list[bytes]]]) -> tuple[dict[str, Any], list[bytes]]:
    try:
        return ask()
    except Invalid as error:
        return {"invalid": encode_messages({"message": error.message, "hint": error.hint})}, []


preload()
