"""`ScriptOutput`: what the scripts of one plan write while they run, as their agent tells it.

A server says whatever it likes: pieces are measured, made of whole lines without what commands a terminal, and dropped
beyond a budget. Lines are whole when they leave, so that whoever masks secrets sees each as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from vetro.agent.guest.output import ACTION
from vetro.clouds.guest.console_text import plain_lines

#: Bytes and pieces of one plan, and characters of a line; what is beyond is left out.
MOST: Final = 2 << 20
MOST_PIECES: Final = 4000
LONGEST: Final = 16 << 10
#: Characters of the names of a script and of a stream.
_NAME: Final = 200


def is_piece(body: Any) -> bool:
    """Whether the body of a message is a piece of output."""
    return isinstance(body, dict) and body.get("Action") == ACTION


class ScriptOutput:
    """``tell`` gets ``{id, number, script, stream, text, left}``; ``id``: of the object that is the server, ``number``
    unlike that of all other pieces of the plan, also after a host died.
    """

    def __init__(self, server: str, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._server = server
        self._tell = tell
        self._lock = threading.Lock()
        self._size = self._count = 0
        #: By script and stream: the line that has not ended yet.
        self._rest: dict[tuple[str, str], str] = {}

    def take(self, body: Mapping[str, Any]) -> None:
        """A piece has come."""
        script, stream, text, left = (body.get(name) for name in ("Script", "Stream", "Text", "Left"))
        number = body.get("Number")
        if not (isinstance(script, str) and isinstance(text, str)) or stream not in ("stdout", "stderr"):
            return
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
            return
        with self._lock:
            self._size += len(text)
            self._count += 1
            if self._size > MOST or self._count > MOST_PIECES:
                return
            key = (_shown(script[:_NAME], 1)[:_NAME], stream)
            if len(self._rest) > 100:
                self._rest.clear()
            whole, cut, rest = (self._rest.pop(key, "") + text).rpartition("\n")
            if rest:
                self._rest[key] = rest[: LONGEST + 1]
            left = left if isinstance(left, int) and not isinstance(left, bool) and left > 0 else 0
            if cut or left:
                self._say(key, whole, left, str(number))

    def end(self) -> None:
        """The plan has ended: what its lines lack to their end does not come."""
        with self._lock:
            rest, self._rest = self._rest, {}
            for key, text in rest.items():
                self._say(key, text, 0, f"end of {' '.join(key)}")

    def _say(self, key: tuple[str, str], text: str, left: int, number: str) -> None:
        lines = [line if len(line) <= LONGEST else "(a line that is too long to be shown)" for line in text.split("\n")]
        told = _shown("\n".join(lines), len(lines))
        if told.strip() or left:
            script, stream = key
            about = {"id": self._server, "number": number, "script": script, "stream": stream}
            self._tell({**about, "text": told, "left": min(left, 1 << 50)})


def _shown(text: str, lines: int) -> str:
    """What a server wrote as terminals and databases may have it: JSON can spell what no text holds."""
    return plain_lines(text.encode("utf-8", "replace").decode(), lines)
