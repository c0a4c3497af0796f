"""S3 as a place of blobs whose answers are not believed: bounded in size, number and time.

The libraries read an answer to its end, however long that is, and a server that gives a byte now and then keeps
whoever asks waiting for ever.
"""

from __future__ import annotations

import io
import posixpath
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]
from botocore.exceptions import ClientError  # type: ignore[import-untyped, unused-ignore]
from botocore.httpsession import URLLib3Session  # type: ignore[import-untyped, unused-ignore]
from storages.backends.s3 import S3Storage  # type: ignore[import-untyped, unused-ignore]
from storages.utils import clean_name  # type: ignore[import-untyped, unused-ignore]

from vetro.packages.regular import LARGEST_TOTAL

#: Seconds until one try to reach S3 is given up, of five (AWS_MAX_ATTEMPTS); a part of an answer may take three times
#: as long, and all of what is asked at once SECONDS.
_TRY: Final = 10
SECONDS = 60.0
#: Bytes of an answer that is no blob: an error, a page of a list.
_LARGEST_ANSWER: Final = 8 << 20
#: Bytes that are waited for at once, pages and names of one list.
_PIECE: Final = 1 << 16
_MOST_PAGES, MOST_NAMES = 1000, 500_000
#: What is asked at once; more would be threads that a silent server holds.
_MOST_WAITING: Final = 16
_Answer = TypeVar("_Answer")
_waiting = threading.BoundedSemaphore(_MOST_WAITING)


class BoundedS3Storage(S3Storage):  # type: ignore[misc, unused-ignore]
    """A bucket. Raises `OSError` for answers that are too long or too late; `FileNotFoundError` from `open`."""

    def __init__(self, bucket: str) -> None:
        """Keys, region and endpoint come from the usual environment variables of AWS (AWS_ENDPOINT_URL_S3)."""
        client = Config(connect_timeout=_TRY, read_timeout=3 * _TRY)
        super().__init__(bucket_name=bucket, file_overwrite=True, default_acl=None, client_config=client)
        self._http = URLLib3Session(timeout=(_TRY, 3 * _TRY))
        self._prepared = threading.local()

    @property
    def connection(self) -> Any:
        """The client of this thread."""
        found = super().connection
        if getattr(self._prepared, "of", None) is not found:
            found.meta.client.meta.events.register("before-send.s3", self._send)
            self._prepared.of = found
        return found

    def _send(self, request: Any, **_: Any) -> Any:
        """In the place of botocore's own sending: it would read what is no blob to its end."""
        blob = request.stream_output
        request.stream_output = True
        answer = self._http.send(request)
        answer.raw = _Body(answer.raw, LARGEST_TOTAL if blob else _LARGEST_ANSWER)
        return answer

    def _open(self, name: str, mode: str = "rb") -> Any:
        def read() -> bytes:
            with self.bucket.Object(self._normalize_name(clean_name(name))).get()["Body"] as body:
                return bytes(body.read())

        try:
            return io.BytesIO(within_time(read))
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                raise FileNotFoundError(name) from None
            raise

    def _save(self, name: str, content: Any) -> Any:
        return within_time(lambda: super(BoundedS3Storage, self)._save(name, content))

    def delete(self, name: str) -> None:
        """Removes an object."""
        within_time(lambda: super(BoundedS3Storage, self).delete(name))

    def get_modified_time(self, name: str) -> Any:
        """When an object was written."""
        return within_time(lambda: super(BoundedS3Storage, self).get_modified_time(name))

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        """(folders, files) below a path."""
        return within_time(lambda: self._listed(path))

    def _listed(self, path: str) -> tuple[list[str], list[str]]:
        prefix = self._normalize_name(clean_name(path))
        prefix += "/" if prefix and not prefix.endswith("/") else ""
        folders, files = [], []
        pages = self.connection.meta.client.get_paginator("list_objects").paginate(
            Bucket=self.bucket_name, Delimiter="/", Prefix=prefix
        )
        until = time.monotonic() + SECONDS
        for number, page in enumerate(pages):
            folders += [posixpath.relpath(entry["Prefix"], prefix or ".") for entry in page.get("CommonPrefixes", ())]
            files += [posixpath.relpath(entry["Key"], prefix or ".") for entry in page.get("Contents", ())]
            if number >= _MOST_PAGES or len(folders) + len(files) > MOST_NAMES or time.monotonic() > until:
                raise OSError("the list of objects does not end")
        return folders, files


class _Body:
    """The body of an answer. Raises `OSError` when it has more bytes than it may, or takes longer."""

    def __init__(self, raw: Any, largest: int) -> None:
        self._raw = raw
        self._left = largest
        self._until = time.monotonic() + SECONDS

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def read(self, amount: int | None = None, **_: Any) -> bytes:
        """The next bytes, without unpacking; all of them without ``amount``."""
        found = bytearray()
        while amount is None or len(found) < amount:
            wanted = _PIECE if amount is None else min(_PIECE, amount - len(found))
            piece = self._raw.read1(wanted, decode_content=False)
            if not piece:
                break
            found += piece
            self._left -= len(piece)
            if self._left < 0:
                self._raw.close()
                raise OSError("the answer is larger than anything that was stored")
            if time.monotonic() > self._until:
                self._raw.close()
                raise OSError(f"the answer took more than {SECONDS:g} seconds")
        return bytes(found)

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """All of it."""
        yield self.read()


def within_time(ask: Callable[[], _Answer]) -> _Answer:
    """What ``ask`` gives, asked by a thread of its own: heads of answers that come a byte now and then hold none of the
    threads that answer requests. Raises what it raises, and `OSError` after `SECONDS`, or where too many wait."""
    found: list[_Answer] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            found.append(ask())
        except BaseException as error:
            faults.append(error)
        finally:
            _waiting.release()

    if not _waiting.acquire(timeout=SECONDS):
        raise OSError("the storage does not answer")
    thread = threading.Thread(target=run, daemon=True, name="s3")
    thread.start()
    thread.join(SECONDS)
    if faults:
        raise faults[0]
    if not found:
        raise OSError(f"the storage did not answer within {SECONDS:g} seconds")
    return found[0]
