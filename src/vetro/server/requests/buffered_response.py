"""`buffered`: an answer that is made in parts, whole before anything of it is sent.

So it has a status, whatever happens while it is made, and holds no connection to the database and no thread while its
client reads; no memory either: a large one lies in a file without a name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Final

#: Bytes that stay in memory, and those of a part of more.
SMALL: Final = 1 << 18
PART: Final = 1 << 16


class BufferedResponse:
    """A large answer: iterable, as WSGI wants it, once."""

    def __init__(self, head: bytes, parts: Iterable[bytes]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the answer was sent
        try:
            self.size = self._file.write(head) + sum(map(self._file.write, parts))
            self._file.seek(0)
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        while part := self._file.read(PART):
            yield part

    def close(self) -> None:
        """The file is gone."""
        self._file.close()


def buffered(parts: Iterable[bytes]) -> bytes | BufferedResponse:
    """All of it. Raises what making it raises, and `OSError` where there is no room for it."""
    parts, head = iter(parts), b""
    for part in parts:
        head += part
        if len(head) > SMALL:
            return BufferedResponse(head, parts)
    return head
