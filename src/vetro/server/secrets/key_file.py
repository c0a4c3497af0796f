"""The file of keys: one Fernet key a line, newest first; made with one key where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cryptography.fernet import Fernet

from vetro.yaql.errors import VetroError


class KeysUnusable(VetroError):
    """The keys of the service are missing, damaged, or not the ones that data was written with."""

    kind = "error"
    code = "SRV511"
    hint = "restore the file of keys that belongs to this database (setting secrets.key_file)"


def read_keys(path: Path, *, make: bool = True) -> list[str]:
    """The keys. Raises `KeysUnusable`."""
    if make and not path.exists():
        _make(path)
    try:
        lines = path.read_text("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise KeysUnusable(f"the keys of the service cannot be read: {error}") from None
    if not lines:
        raise KeysUnusable(f"{path} holds no key")
    return lines


def write_keys(path: Path, keys: Iterable[str]) -> None:
    """Puts these keys, newest first, in place of those in the file. Raises `KeysUnusable`."""
    try:
        os.replace(_draft(path, keys), path)
    except OSError as error:
        raise KeysUnusable(f"the keys of the service cannot be written: {error}") from None


def _draft(path: Path, keys: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write("".join(f"{key}\n" for key in keys).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    return draft


def _make(path: Path) -> None:
    draft = _draft(path, [Fernet.generate_key().decode("ascii")])
    try:
        os.link(draft, path)  # the first of several processes wins, and all read its key
    except FileExistsError:
        pass
    finally:
        draft.unlink()
