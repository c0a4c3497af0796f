"""Encryption at rest: the keyring, and the database fields whose content it protects.

Models of environments, drafts, tasks and journals hold passwords, so their columns hold ciphertext. Keys are
Fernet keys, newest first: everything is written with the first and read with any.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models

from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server import large_requests
from vetro.server.errors import Invalid
from vetro.server.secrets.key_file import KeysUnusable, read_keys


class CompressedJSON(bytes):
    """JSON text, compressed: an `EncryptedJSON` stores it without reading it."""


class Ciphertext(bytes):
    """What `dumps` made. An `EncryptedJSON` stores it as it is: large values are made before a transaction begins."""


class Keyring:
    """Encrypts and decrypts bytes."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = tuple(keys)
        try:
            self._fernet = MultiFernet([Fernet(key) for key in self.keys])
        except ValueError as error:
            raise KeysUnusable(f"a key of the service is no key: {error}") from None

    def encrypt(self, data: bytes) -> bytes:
        """Ciphertext; compressed before, since models are long and repeat themselves."""
        return self._fernet.encrypt(data if isinstance(data, CompressedJSON) else zlib.compress(data, 1))

    def decrypt(self, data: bytes) -> bytes:
        """The plain bytes. Raises `KeysUnusable` when no key fits, `LargeRequest` where there are too many."""
        try:
            return _unpacked(self._fernet.decrypt(bytes(data)))
        except InvalidToken:
            raise KeysUnusable("data was encrypted with a key that the service does not have") from None


def _unpacked(data: bytes) -> bytes:
    """What is compressed, measured where a request loads it."""
    most = large_requests.room()
    if most is None:
        return zlib.decompress(data)
    reader = zlib.decompressobj()
    text = reader.decompress(data, most + 1)
    large_requests.take(len(text))
    if not reader.eof:
        raise zlib.error("compressed data ends too early")
    return text


_rings: dict[str, Keyring] = {}


def keyring() -> Keyring:
    """The keyring of this installation (setting ``secrets.key_file``)."""
    path = str(settings.VETRO_KEY_FILE)
    if path not in _rings:
        _rings[path] = Keyring(read_keys(Path(path)))
    return _rings[path]


def _opened(data: bytes) -> bytes:
    """What is in ciphertext. A key that was added to the file since it was read is found: processes that know it write
    with it while others still run. Raises `KeysUnusable`."""
    ring = keyring()
    try:
        return ring.decrypt(data)
    except KeysUnusable as error:
        path = str(settings.VETRO_KEY_FILE)
        if keyring() is ring:
            try:
                keys = read_keys(Path(path), make=False)
            except KeysUnusable:
                raise error from None
            if tuple(keys) == ring.keys:
                raise
            _rings[path] = Keyring(keys)
        return keyring().decrypt(data)


def forget_keys() -> None:
    """The file of keys is read again."""
    _rings.clear()


class EncryptedJSON(models.BinaryField):  # type: ignore[type-arg]
    """Any JSON value, encrypted. Cannot be searched."""

    description = "encrypted JSON"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The plain value of a column."""
        return None if value is None else loads(bytes(value))

    def get_prep_value(self, value: Any) -> Any:
        """The ciphertext of a value; None is stored as NULL."""
        return None if value is None else dumps(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """The same as the database driver wants it."""
        return super().get_db_prep_value(value if prepared else self.get_prep_value(value), connection, prepared=True)


def dumps(value: Any) -> Ciphertext:
    """A JSON value as ciphertext."""
    if isinstance(value, Ciphertext):
        return value
    if isinstance(value, CompressedJSON):
        return Ciphertext(keyring().encrypt(value))
    with deep_calls():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Ciphertext(keyring().encrypt(text.encode("utf-8", "surrogatepass")))


def loads(data: bytes) -> Any:
    """What `dumps` wrote."""
    with deep_calls():
        return json.loads(_opened(data).decode("utf-8", "surrogatepass"))


def unpacked_size(data: bytes | memoryview, most: int) -> int:
    """The size of what is compressed, found out piece by piece. Raises `Invalid` beyond ``most``, and for what is no
    compressed data."""
    reader, size = zlib.decompressobj(), 0
    rest: bytes | memoryview = data
    try:
        while not reader.eof:
            part = reader.decompress(rest, 1 << 16)
            rest = reader.unconsumed_tail
            size += len(part)
            if size > most or not (part or rest):
                break
    except zlib.error:
        size = most + 1
    if size > most or not reader.eof:
        raise Invalid(f"compressed data is broken, or has more than {most:,} bytes")
    return size


def loads_compressed(data: bytes | memoryview, most: int) -> Any:
    """The JSON value of `CompressedJSON` of at most so many bytes. Raises `Invalid`."""
    large_requests.take(unpacked_size(data, most))
    with deep_calls():
        return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
