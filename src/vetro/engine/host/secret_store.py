"""`SecretStore`: texts that only the effects host can read, kept encrypted in a folder (LOCAL_CLOUD.md 3)."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from vetro.engine.host.answers import HostConfigError, NoSuchSecret

_TABLE = "CREATE TABLE IF NOT EXISTS secrets (reference TEXT PRIMARY KEY, project TEXT NOT NULL, data BLOB NOT NULL)"


class SecretStore:
    """The secrets of one project in ``directory``; the key file is made when it is missing, mode 0600.

    Raises `HostConfigError` when the folder or its key cannot be used. Safe for several threads and processes.
    """

    def __init__(self, directory: str | Path, project: str) -> None:
        self._project = project
        folder = Path(directory)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fernet = Fernet(_key(folder / "secrets.key"))
        except (OSError, ValueError) as error:
            raise HostConfigError(f"the secret store in {folder} cannot be used: {error}") from error
        self._path = folder / "secrets.db"
        with self._open() as connection:
            connection.execute(_TABLE)
        os.chmod(self._path, 0o600)

    def _open(self) -> contextlib.closing[sqlite3.Connection]:
        return contextlib.closing(sqlite3.connect(self._path, timeout=30, isolation_level=None))

    def put(self, text: str) -> str:
        """Stores a text; the reference under which `get` finds it."""
        reference = secrets.token_hex(16)
        data = self._fernet.encrypt(text.encode("utf-8", "surrogatepass"))
        with self._open() as connection:
            connection.execute("INSERT INTO secrets VALUES (?, ?, ?)", (reference, self._project, data))
        return reference

    def get(self, reference: str) -> str:
        """The text. Raises `NoSuchSecret`, also for references of other projects."""
        with self._open() as connection:
            row = connection.execute(
                "SELECT data FROM secrets WHERE reference=? AND project=?", (reference, self._project)
            ).fetchone()
        if row is None:
            raise NoSuchSecret(f"the secret store holds nothing under '{reference}'")
        try:
            return self._fernet.decrypt(row[0]).decode("utf-8", "surrogatepass")
        except InvalidToken:
            raise NoSuchSecret(f"the secret '{reference}' was encrypted with another key") from None

    def delete(self, reference: str) -> None:
        """Forgets a text; nothing when there is none."""
        with self._open() as connection:
            connection.execute("DELETE FROM secrets WHERE reference=? AND project=?", (reference, self._project))


def _key(path: Path) -> bytes:
    """The key in a file; two processes that make it at the same time get the same one."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(Fernet.generate_key())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            os.unlink(draft)
    return path.read_bytes()
