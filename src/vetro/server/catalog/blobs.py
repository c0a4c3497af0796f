"""The blob store: files by SHA-256, in the data directory or in S3-compatible storage (setting ``storage.blobs``).

A blob is written before the transaction that names it commits and is never changed; what no row names any more is
removed by `vetro.server.catalog.garbage`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from django.core.files.base import ContentFile

from vetro.diagnostics import Text
from vetro.server.config.config import ConfigError
from vetro.server.errors import Unavailable
from vetro.server.setup import config
from vetro.yaql.errors import VetroError

_DIGITS = frozenset("0123456789abcdef")


class BlobMissing(VetroError):
    """A blob that the catalog names is not in the store, or is not what was stored."""

    kind = "not-found"
    code = "SRV510"
    hint = Text("restore the blob store from a backup, or import the package again")


class Store(Protocol):
    """Where the bytes are."""

    def write(self, digest: str, data: bytes | memoryview) -> None: ...
    def read(self, digest: str) -> bytes: ...
    def remove(self, digest: str) -> None: ...
    def listed(self) -> Iterator[tuple[str, float]]: ...
    def names(self) -> Iterator[str]: ...
    def now(self) -> float: ...


def put(data: bytes | memoryview) -> str:
    """Keeps the bytes; their SHA-256 in hexadecimal digits. Raises `Unavailable` when the store does not work."""
    digest = hashlib.sha256(data).hexdigest()
    try:
        store().write(digest, data)
    except OSError as error:
        raise Unavailable(
            Text("the blob store cannot be written: {strerror}", strerror=error.strerror or error)
        ) from error
    return digest


def get(digest: str) -> bytes:
    """The bytes. Raises `BlobMissing` when they are gone or damaged, `Unavailable` when the store does not work."""
    data = store().read(_checked(digest))
    if hashlib.sha256(data).hexdigest() != digest:
        raise BlobMissing(Text("blob {digest}… is damaged", digest=digest[:12]))
    return data


def local_file(digest: str) -> Path:
    """A file on this machine with the bytes. Raises what `get` raises."""
    found = store()
    if isinstance(found, Folder):
        path = found.path(_checked(digest))
        if not path.exists():
            found.read(digest)  # says why not
        return path
    cache = Folder(config().data / "cache" / "blobs")
    path = cache.path(_checked(digest))
    if not path.exists():
        cache.write(digest, get(digest))
    return path


def location_of(digest: str) -> Path:
    """Where `local_file` will put it: compiled code remembers this place."""
    found = store()
    folder = found if isinstance(found, Folder) else Folder(config().data / "cache" / "blobs")
    return folder.path(_checked(digest))


def local_path(digest: str) -> Path:
    """The package with this digest as task processes load it: its archive, or, for formats other than MuranoPL, a
    prepared folder. Raises what `get` raises, and `PackageError` for an archive that cannot be unpacked.
    """
    from vetro.server.catalog.folders import folder_of

    file = local_file(digest)
    return folder_of(digest, file) or file


def _checked(digest: str) -> str:
    if len(digest) != 64 or not _DIGITS.issuperset(digest):
        raise BlobMissing(Text("'{digest}' is no digest", digest=digest[:70]))
    return digest


class Folder:
    """Blobs in a folder, each under the first two digits of its name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: str) -> Path:
        """Where a blob is, or would be."""
        return self.root / digest[:2] / digest

    def write(self, digest: str, data: bytes | memoryview) -> None:
        """Keeps a blob; when this returns it survives a power cut. A blob that is there already is made young."""
        path = self.path(digest)
        if path.exists() and path.stat().st_size == len(data):
            os.utime(path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, 0o444)
            os.replace(draft, path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)

    def read(self, digest: str) -> bytes:
        """The bytes. Raises `BlobMissing`; `Unavailable` for a file system that does not work or is not mounted."""
        try:
            return self.path(digest).read_bytes()
        except FileNotFoundError:
            if self.root.is_dir() and any(self.root.iterdir()):
                raise BlobMissing(Text("blob {digest}… is missing", digest=digest[:12])) from None
            raise Unavailable(
                Text("the blob store {root} is empty", root=self.root), hint=Text("is it mounted?")
            ) from None
        except OSError as error:
            raise Unavailable(
                Text("the blob store cannot be read: {strerror}", strerror=error.strerror or error)
            ) from error

    def remove(self, digest: str) -> None:
        """Removes a blob, if it is there."""
        self.path(digest).unlink(missing_ok=True)

    def listed(self) -> Iterator[tuple[str, float]]:
        """(name, when it was last written, seconds since the epoch); drafts that a crash left among them."""
        if not self.root.is_dir():
            return
        for folder in os.scandir(self.root):
            if folder.is_dir() and len(folder.name) == 2:
                for entry in os.scandir(folder.path):
                    try:
                        at = entry.stat().st_mtime
                    except FileNotFoundError:  # somebody else removes, too
                        continue
                    if entry.name.startswith(".new-") and at < self.now() - 3600:
                        Path(entry.path).unlink(missing_ok=True)
                    elif len(entry.name) == 64:
                        yield entry.name, at

    def names(self) -> Iterator[str]:
        """Names of all blobs."""
        return (name for name, _ in self.listed())

    def now(self) -> float:
        """The time by the clock that ages are told by: of a shared folder that of its server, not of this machine."""
        try:
            os.utime(self.root)
            return self.root.stat().st_mtime
        except FileNotFoundError:  # nothing was ever written
            return time.time()


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Bucket:
    """Blobs in storage of django-storages: objects ``prefix/aa/aabb…``."""

    def __init__(self, storage: Any, prefix: str = "") -> None:
        self._storage = storage
        self._prefix = prefix.strip("/")

    def _name(self, digest: str) -> str:
        name = f"{digest[:2]}/{digest}"
        return f"{self._prefix}/{name}" if self._prefix else name

    def write(self, digest: str, data: bytes | memoryview) -> None:
        """Keeps a blob. An object that is there is written again: that makes it young."""
        name = self._name(digest)
        with _as_os_errors():
            saved = self._storage.save(name, ContentFile(bytes(data)))
            if saved != name:  # the storage does not overwrite: the object was there already
                self._storage.delete(saved)

    def read(self, digest: str) -> bytes:
        """The bytes. Raises `BlobMissing`; `Unavailable` when the storage does not give them."""
        try:
            with _as_os_errors(), self._storage.open(self._name(digest), "rb") as file:
                return bytes(file.read())
        except FileNotFoundError:
            raise BlobMissing(Text("blob {digest}… is missing", digest=digest[:12])) from None
        except OSError as error:
            raise Unavailable(Text("the blob store cannot be read: {error}", error=error)) from error

    def remove(self, digest: str) -> None:
        """Removes a blob, if it is there. Raises OSError when the storage does not do it."""
        with _as_os_errors():
            self._storage.delete(self._name(digest))

    def listed(self) -> Iterator[tuple[str, float]]:
        """(name, when it was last written): one request each. Raises OSError when the storage does not say."""
        for name in self.names():
            with _as_os_errors():
                at = self._storage.get_modified_time(self._name(name))
            yield name, at.timestamp()

    def names(self) -> Iterator[str]:
        """Names of all blobs. Raises OSError when the storage does not say."""
        with _as_os_errors():
            folders, _ = self._storage.listdir(self._prefix)
        for folder in folders:
            if len(folder) != 2:  # none of ours
                continue
            with _as_os_errors():
                found = self._storage.listdir(f"{self._prefix}/{folder}" if self._prefix else folder)[1]
            yield from (name for name in found if len(name) == 64)

    def now(self) -> float:
        """The time by the storage's clock, of an object that is written and removed again. Raises OSError."""
        name = f"now-{secrets.token_hex(8)}"  # of this look alone: other machines look, too
        with _as_os_errors():
            name = self._storage.save(f"{self._prefix}/{name}" if self._prefix else name, ContentFile(b"now"))
            try:
                return float(self._storage.get_modified_time(name).timestamp())
            finally:
                self._storage.delete(name)


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Errors of clients of storages are of classes of their own; that of a file is one that all of them may be."""
    try:
        yield
    except (OSError, ValueError):
        raise
    except Exception as error:
        raise OSError(Text("{name}: {error}", name=type(error).__name__, error=error)) from error


_stores: dict[str, Store] = {}
_lock = threading.Lock()


def store() -> Store:
    """The store of this installation. Raises `ConfigError` for an address that is none, or a missing library."""
    address = str(config()["storage.blobs"])
    key = f"{config().data}|{address}"
    found = _stores.get(key)
    if found is None:
        with _lock:
            found = _stores.setdefault(key, _open(address))
    return found


def _open(address: str) -> Store:
    if "://" not in address:
        return Folder(config().path("storage.blobs"))
    parts = urlsplit(address)
    if parts.scheme != "s3" or not parts.hostname:
        raise ConfigError(Text("'storage.blobs' is a folder or s3://BUCKET/PREFIX, not '{address}'", address=address))
    try:
        from vetro.server.catalog.s3 import BoundedS3Storage
    except ImportError:
        raise ConfigError(
            Text(
                "'storage.blobs' names a bucket, but django-storages is not installed: install "
                "vetro with the extra 's3'"
            )
        ) from None
    return Bucket(BoundedS3Storage(parts.hostname), parts.path)
