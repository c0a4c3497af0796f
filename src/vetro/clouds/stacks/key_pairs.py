"""Key pairs of servers: OpenSSH lines and their fingerprints."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vetro.clouds.interface import CloudError


class KeyInvalid(CloudError):
    """A public key is no OpenSSH line."""

    kind = "bad-argument"
    code = "CLD129"


def make_key(comment: str) -> tuple[str, str]:
    """A fresh key pair: public OpenSSH line and private key (OpenSSH PEM)."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return f"{public.decode()} {comment}", private.decode()


def fingerprint(public: str) -> str:
    """The MD5 fingerprint that OpenStack shows. Raises `KeyInvalid`."""
    parts = public.split()
    try:
        data = base64.b64decode(parts[1], validate=True)
    except (IndexError, binascii.Error, ValueError):
        raise KeyInvalid("a public key is a line like 'ssh-ed25519 AAAA... name'") from None
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return ":".join(digest[i : i + 2] for i in range(0, 32, 2))


def default_key(directory: Path | None) -> str:
    """The public line of the cloud's own key; its private half is the file ``keys/default`` (mode 0600), or nowhere."""
    if directory is None:
        return make_key("vetro-default")[0]
    folder = directory / "keys"
    folder.mkdir(mode=0o700, exist_ok=True)
    private, public = folder / "default", folder / "default.pub"
    if not public.exists():
        line, secret = make_key("vetro-default")
        for path, text in ((private, secret), (public, line + "\n")):
            # Written aside and moved: a killed process leaves no half of a key.
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_text(text)
            fresh.rename(path)
    return public.read_text().strip()
