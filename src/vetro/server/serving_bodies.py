"""`with_length`: bodies of requests, bounded before anybody reads them."""

from __future__ import annotations

import tempfile
from typing import IO, Any

_PART = 1 << 16
#: What is kept in memory of a body without a length; the rest goes to a file.
_IN_MEMORY = 1 << 20


class BodyRefused(Exception):
    """The body cannot be taken."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.status_line = f"{status} {title}"


def with_length(environ: dict[str, Any], largest: int) -> IO[bytes] | None:
    """Sees to it that ``CONTENT_LENGTH`` holds the length of the body; a file to close, if one was needed.

    Django reads as many bytes as are announced; a body that comes in chunks announces none, so it is read here.
    Raises `BodyRefused` for one beyond ``largest`` bytes.
    """
    length = environ.get("CONTENT_LENGTH") or ""
    if length:
        if not length.isascii() or not length.isdigit():
            raise BodyRefused(400, "Bad Request", "Content-Length is no number\n")
        if len(length) > 18 or int(length) > largest:
            raise _too_large(largest)
        return None
    if "chunked" not in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    body = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="vetro-body-")  # noqa: SIM115 - lives as long as the request
    size = 0
    while part := environ["wsgi.input"].read(_PART):
        size += len(part)
        if size > largest:
            body.close()
            raise _too_large(largest)
        body.write(part)
    body.seek(0)
    environ["wsgi.input"] = body
    environ["CONTENT_LENGTH"] = str(size)
    return body


def _too_large(largest: int) -> BodyRefused:
    return BodyRefused(413, "Request Entity Too Large", f"the body of a request has at most {largest >> 20} MiB\n")
