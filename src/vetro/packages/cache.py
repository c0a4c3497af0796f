"""The compile cache on disk (docs/internals.md, "The cache").

What is kept are marshalled code objects; whoever can make the engine unmarshal bytes of theirs runs code in it. So
every entry carries an HMAC-SHA256 over its key and content, made with a key that only this user can read, and nothing
that fails this test is handed out. Damaged, truncated and foreign entries count as absent.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

_MAGIC = b"VTC1"
_MAC = hashlib.sha256().digest_size
_KEY_BYTES = 32
_NAME = re.compile(r"[0-9a-f]{64}")
DEFAULT_MAX_BYTES = 256 * 1024 * 1024
#: How much may be written between two looks at the size of the whole cache.
_PRUNE_EVERY = 8 * 1024 * 1024


class DiskCache:
    """A `vetro.muranopl.code_cache.CodeCache` in a folder.

    ``writable`` creates folder and key when needed; a read-only cache without a valid key is empty. A cache whose
    folder, key or entry belongs to another user, or is writable by others, is not used. It never raises: a cache that
    cannot be used is an empty one, and says why in ``refused``.
    """

    def __init__(
        self, directory: str | os.PathLike[str], writable: bool = False, *, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> None:
        self._root = Path(directory)
        self._entries = self._root / "entries"
        self._folder = str(self._entries)
        self._writable = writable
        self._max_bytes = max_bytes
        self._written = 0
        # Remembered: a task process that gives up its user later still trusts what the engine's user wrote.
        self._owners = frozenset((os.geteuid(), 0))
        #: Why the cache is not used, or None.
        self.refused: str | None = None
        self._key = b""
        try:
            self._key = self._load_key()
        except OSError as error:
            self._refuse(f"{error.filename or self._root}: {error.strerror or error}")

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        log.warning("compile cache is not used: %s", reason)

    # -- key ----------------------------------------------------------------------------------------------------

    def _load_key(self) -> bytes:
        path = self._root / "key"
        if self._writable:
            self._root.parent.mkdir(parents=True, exist_ok=True)
            self._root.mkdir(mode=0o700, exist_ok=True)
            self._entries.mkdir(mode=0o700, exist_ok=True)
        for folder in (self._root, self._entries):
            if not self._writable and not folder.exists():
                return b""
            if not self._private(folder.stat(), kind=stat.S_IFDIR, mask=0o022):
                self._refuse(f"{folder} belongs to, or can be written by, others")
                return b""
        key = self._read_private(path, 0o077)
        if self._writable and (key is not None or not path.exists()) and len(key or b"") != _KEY_BYTES:
            # Absent, or ours and cut off: whatever it signed is worthless now, a new one makes all entries foreign.
            if key is not None:
                path.unlink(missing_ok=True)
            self._create_key(path)
            key = self._read_private(path, 0o077)
        if key is not None and len(key) == _KEY_BYTES:
            return key
        if path.exists():
            self._refuse(f"{path} is no key of this user with mode 0600")
        return b""

    def _create_key(self, path: Path) -> None:
        # Written beside and linked: two processes that start together agree on one key, and none sees half of it.
        handle, temporary = tempfile.mkstemp(dir=self._root, prefix=".key-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
            os.chmod(temporary, 0o600)
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass
        finally:
            os.unlink(temporary)

    def _private(self, info: os.stat_result, *, kind: int, mask: int) -> bool:
        """Of this kind, owned by this user (or root), and none of the mode bits of ``mask`` set."""
        return stat.S_IFMT(info.st_mode) == kind and info.st_uid in self._owners and not info.st_mode & mask

    def _read_private(self, path: str | Path, mask: int) -> bytes | None:
        """The file's bytes when it is a plain file of this user; the check is made on the opened file itself."""
        try:
            # O_NONBLOCK: opening a pipe that somebody put there must not wait for a writer.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            info = os.fstat(handle)
            if not self._private(info, kind=stat.S_IFREG, mask=mask):
                return None
            parts = []
            while part := os.read(handle, max(info.st_size, 4096) + 1):
                parts.append(part)
                if len(part) <= info.st_size and sum(map(len, parts)) == info.st_size:
                    break  # the whole file; a longer one was replaced, never written to
            return b"".join(parts)
        except OSError:
            return None
        finally:
            os.close(handle)

    # -- entries ------------------------------------------------------------------------------------------------

    def _path(self, key: str) -> str:
        name = key if _NAME.fullmatch(key) else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self._folder}/{name[:2]}/{name}"

    def _mac(self, key: str, data: bytes) -> bytes:
        # The key is part of what is signed: a genuine entry renamed to another key proves nothing.
        signed = _MAGIC + hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest() + data
        return hmac.digest(self._key, signed, "sha256")

    def get(self, key: str) -> bytes | None:
        """What was put under ``key`` by this user, unchanged; else None."""
        if not self._key:
            return None
        path = self._path(key)
        content = self._read_private(path, 0o022)
        if content is None:
            return None
        head = len(_MAGIC) + _MAC
        if len(content) >= head and content.startswith(_MAGIC):
            data = content[head:]
            if hmac.compare_digest(content[len(_MAGIC) : head], self._mac(key, data)):
                return data
        log.warning("entry of the compile cache is damaged or foreign, it is ignored: %s", path)
        return None

    def put(self, key: str, data: bytes) -> None:
        """Keeps ``data``; readers see the old entry or the whole new one. A full disk only costs the entry."""
        if not self._key or not self._writable:
            return
        path = self._path(key)
        content = _MAGIC + self._mac(key, data) + data
        if len(content) > self._max_bytes:
            return
        temporary = None
        try:
            folder = os.path.dirname(path)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except OSError as error:
            log.warning("entry of the compile cache cannot be written: %s", error)
            if temporary is not None:
                _remove(temporary)
            return
        self._written += len(content)
        if self._written >= min(_PRUNE_EVERY, self._max_bytes // 4):
            self.prune()

    def prune(self) -> None:
        """Removes the entries that were written longest ago until three quarters of the limit are kept."""
        self._written = 0
        if not self._writable:
            return
        found: list[tuple[float, int, str]] = []
        for entry in _files(self._entries):
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found.append((info.st_mtime, info.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total <= self._max_bytes:
            return
        for _, size, path in sorted(found):
            _remove(path)
            total -= size
            if total <= self._max_bytes * 3 // 4:
                break


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from os.scandir(entry.path)
            else:
                yield entry
    except OSError:
        return


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
