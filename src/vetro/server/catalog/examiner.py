"""The examining child: ``python -m vetro.server.catalog.examiner`` answers questions about archives (`reading`).

Untrusted archives are never parsed in the process that answers requests: the child has limits of memory and time, and
is killed and replaced when it breaks them. Frames: 4 bytes length of a JSON head, the head, then the blobs whose sizes
it lists. A project occupies one child at a time.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import IO, Any

from vetro.server.errors import Invalid, TooMany, Unavailable

#: Children at once, and what each may use.
CHILDREN = 2
MEMORY = 2 << 30
#: Questions that wait at most, of one owner and of all: each holds a thread of the server, and there are not many.
MOST_WAITING, MOST_TOGETHER = 4, 10
_HEAD = struct.Struct("<I")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")

Blobs = Sequence[bytes]


def _send(file: IO[bytes], head: dict[str, Any], blobs: Blobs) -> None:
    text = json.dumps({**head, "sizes": [len(b) for b in blobs]}).encode("utf-8", "surrogatepass")
    file.write(_HEAD.pack(len(text)) + text)
    for blob in blobs:
        file.write(blob)
    file.flush()


class _Child:
    """One child process."""

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vetro.server.catalog.examiner"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"no process can be started to examine the package: {error.strerror}") from error

    def ask(self, head: dict[str, Any], blobs: Blobs, seconds: float) -> tuple[dict[str, Any], list[bytes]]:
        """The answer. Raises `TimeoutError`, `EOFError`."""
        until = time.monotonic() + seconds
        assert self._process.stdin is not None
        writer = threading.Thread(target=self._write, args=(head, blobs), daemon=True)
        writer.start()  # a child that hangs must not hang the request while its pipe is full
        (length,) = _HEAD.unpack(self._read(_HEAD.size, until))
        answer = json.loads(self._read(length, until))
        found = [self._read(size, until) for size in answer.pop("sizes")]
        writer.join(max(until - time.monotonic(), 0.1))
        return answer, found

    def _write(self, head: dict[str, Any], blobs: Blobs) -> None:
        assert self._process.stdin is not None
        try:
            _send(self._process.stdin, head, blobs)
        except (OSError, ValueError):  # it died: the reader sees that, too
            return

    def _read(self, size: int, until: float) -> bytes:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        parts: list[bytes] = []
        while size:
            if not select.select([handle], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError
            part = os.read(handle, min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        for file in (self._process.stdin, self._process.stdout):
            try:
                if file is not None:
                    file.close()
            except OSError:
                pass
        self._process.wait()


class Pool:
    """The children of this process; started when needed."""

    def __init__(self, size: int = CHILDREN) -> None:
        self._size = size
        self._free = threading.Condition()
        self._idle: list[_Child] = []
        self._busy: set[str] = set()
        self._waiting: Counter[str] = Counter()

    def ask(
        self, owner: str, head: dict[str, Any], blobs: Blobs = (), seconds: float = 30.0
    ) -> tuple[dict[str, Any], list[bytes]]:
        """The answer of a child; ``owner`` waits while another question of the same owner is being answered.

        Raises `Invalid` when the child takes too long or dies of the question, `Unavailable` when none can be had,
        `TooMany` when too many questions of the owner wait already.
        """
        until = time.monotonic() + 2 * seconds
        with self._free:
            self._wait(owner, 2 * seconds)
            self._busy.add(owner)
            child = self._idle.pop() if self._idle else None
        try:
            child = child or _Child()
            answer = child.ask(head, blobs, min(seconds, max(until - time.monotonic(), 1.0)))
        except BaseException as error:
            if child is not None:
                child.close()
            child = None
            if isinstance(error, TimeoutError):
                raise Invalid(
                    f"Couldn't load package from file: examining it took more than {seconds:g} seconds"
                ) from None
            if isinstance(error, EOFError | ValueError):
                raise Invalid(
                    "Couldn't load package from file: examining it took more memory than is allowed"
                ) from None
            raise
        finally:
            with self._free:
                self._busy.discard(owner)
                if child is not None:
                    self._idle.append(child)
                self._free.notify_all()
        if "defect" in answer[0]:
            raise Invalid(f"Couldn't load package from file: {answer[0]['defect']}")
        return answer

    def _wait(self, owner: str, seconds: float) -> None:
        """Until a child is free for the owner. The lock is held. Raises `Unavailable`, `TooMany`."""
        if self._waiting[owner] >= MOST_WAITING:
            text = "packages of this project are being examined, and others wait already"
            raise TooMany(text, hint="send one after the other", details={"retry_after": 10})
        if self._waiting.total() >= MOST_TOGETHER:
            raise Unavailable("many packages are being examined; try again later")
        self._waiting[owner] += 1
        try:
            if not self._free.wait_for(
                lambda: owner not in self._busy and len(self._busy) < self._size, timeout=seconds
            ):
                raise Unavailable("other packages are being examined; try again later")
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner]

    def close(self) -> None:
        """Ends all children."""
        with self._free:
            idle, self._idle = self._idle, []
        for child in idle:
            child.close()


_pool: Pool | None = None
_pool_of = 0
_lock = threading.Lock()


def pool() -> Pool:
    """The pool of this process."""
    global _pool, _pool_of
    with _lock:
        if _pool is None or _pool_of != os.getpid():
            _pool, _pool_of = Pool(), os.getpid()
            atexit.register(_pool.close)
        return _pool


# -- the child ---------------------------------------------------------------------------------------------------------


def main() -> int:
    """Answers until the other side is gone."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(os.dup(1), "wb") as out, os.fdopen(0, "rb") as given:
        os.dup2(2, 1)  # what a plug-in prints must not end up among the answers
        while head := given.read(_HEAD.size):
            question = json.loads(given.read(_HEAD.unpack(head)[0]))
            blobs = [given.read(size) for size in question.pop("sizes")]
            answer, more = _answer(question, blobs)
            _send(out, answer, more)
    return 0


def _answer(question: dict[str, Any], blobs: Blobs) -> tuple[dict[str, Any], Blobs]:
    from vetro.packages.archive import ArchiveLimits
    from vetro.server.catalog import describing, reading

    limits = ArchiveLimits(**question["limits"])
    try:
        if question["op"] == "read":
            facts, data = reading.read(blobs[0], question["location"], limits, strict=question["strict"])
            return {"facts": facts}, [data] if data != blobs[0] else []
        if question["op"] == "describe":
            return {"described": describing.describe(blobs[0], question["location"], question["others"], limits)}, []
        if question["op"] == "highlight":
            return {"lines": describing.highlight(blobs[0].decode(), question["path"])}, []
        archives = list(zip(blobs, question["locations"], strict=True))
        return {"checked": reading.check(archives, question["others"], question["cache"], limits)}, []
    except MemoryError:
        return {"defect": "examining it took more memory than is allowed"}, []
    except RecursionError:
        return {"defect": "it is nested too deeply"}, []
    except Exception as error:  # a defect of ours or of a plug-in: this package is refused, the child goes on
        import logging

        logging.getLogger(__name__).exception("a package could not be examined")
        return {"defect": f"it could not be examined ({type(error).__name__})"}, []


if __name__ == "__main__":
    sys.exit(main())
