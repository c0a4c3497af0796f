"""Where compiled classes are kept between runs, as the language sees it (docs/internals.md, "The cache").

Values are what `marshal` produced. Unmarshalling bytes of a stranger is running their code, so an implementation
hands out only what it can prove it was given itself; see `vetro.packages.cache.DiskCache`.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.util import MAGIC_NUMBER
from typing import Protocol


class CodeCache(Protocol):
    """Bytes by key. A cache may forget anything at any time; it never raises."""

    def get(self, key: str) -> bytes | None:
        """What was put under ``key``, exactly, or None."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Keeps ``data``, if it can."""
        ...


class MemoryCache:
    """Keeps everything for the life of the process."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """What was put under ``key``, or None."""
        return self._entries.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Keeps ``data``."""
        self._entries[key] = bytes(data)

    def __len__(self) -> int:
        return len(self._entries)


def key_of_file(file: str, key: str) -> str:
    """A key that says to which file its entry belongs, so that who stores what others compiled can look (`file_of`)."""
    return f"{file}\0{key}"


def file_of(key: str) -> str:
    """The file that a key of `key_of_file` names; '' for others."""
    file, mark, _ = key.rpartition("\0")
    return file if mark else ""


def cache_key(compiler_version: str, *parts: str) -> str:
    """A key for compiled code: 64 hex digits of compiler, Python and all ``parts`` (content digest, format, name…).

    Byte code is valid for one Python magic number only; implementation and optimisation level change it as well.
    """
    interpreter = f"{sys.implementation.cache_tag}/{MAGIC_NUMBER.hex()}/{sys.flags.optimize}"
    text = "\0".join((compiler_version, interpreter, *parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
