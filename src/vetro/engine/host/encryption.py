"""`SecretCipher`: texts that only the effects host can read (LOCAL_CLOUD.md 3).

Nothing is stored: what a package or an object model carries is the text itself, encrypted and bound to its project. So
whoever has the keys can open it, on whichever machine a task goes on.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from vetro.engine.host.answer import HostConfigError, NoSuchSecret

#: Between the project and the text; no id of a project holds it.
_BETWEEN = b"\0"


class SecretCipher:
    """Encrypts texts for one project, and decrypts them.

    ``keys``: Fernet keys, newest first; the first one encrypts. Raises `HostConfigError` when they are none.
    """

    def __init__(self, keys: Iterable[str], project: str) -> None:
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise HostConfigError(f"the keys that secrets are sealed with cannot be used: {error}") from None
        self._project = project.encode("utf-8", "surrogatepass")

    def encrypt(self, text: str) -> str:
        """The sealed text: printable ASCII, another one each time."""
        inside = self._project + _BETWEEN + text.encode("utf-8", "surrogatepass")
        return self._fernet.encrypt(inside).decode("ascii")

    def decrypt(self, sealed: str) -> str:
        """The text. Raises `NoSuchSecret` for what was not sealed with these keys and for this project."""
        try:
            project, _, text = self._fernet.decrypt(sealed.encode("utf-8", "surrogatepass")).partition(_BETWEEN)
        except InvalidToken:
            raise NoSuchSecret("this is no sealed secret, or one that was sealed with another key") from None
        if project != self._project:
            raise NoSuchSecret("this secret was sealed for another project")
        return text.decode("utf-8", "surrogatepass")


def derived(keys: Iterable[str]) -> list[str]:
    """Keys for `SecretCipher` out of those of an installation, which effects hosts need not know. Raises ValueError."""
    found = []
    for key in keys:
        kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"vetro: sealed secrets")
        found.append(base64.urlsafe_b64encode(kdf.derive(base64.urlsafe_b64decode(key))).decode("ascii"))
    return found


def key_in(folder: Path, *, make: bool = True) -> list[str]:
    """The key in a file of ``folder``, made with mode 0600 when it is missing; none when it may not be made.

    Two processes that make it at the same time get the same one. Raises `HostConfigError`.
    """
    path = folder / "secrets.key"
    try:
        if not path.exists():
            if not make:
                return []
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make(path)
        return [path.read_text("ascii").strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise HostConfigError(f"the key that secrets are sealed with, {path}, cannot be used: {error}") from None


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(Fernet.generate_key())
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
