"""The engine's signing key: RSA, PKCS#1 v1.5 with SHA-256 over queue name and body (AGENT.md 2)."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from vetro.agent.errors import SigningKeyError

#: Smallest key that is accepted, and that of new ones, in bits.
SMALLEST = 2048
NEW = 3072


class SigningKey:
    """A private key. Never logged; only the effects host holds one."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"<signing key, RSA {self._key.key_size} bits>"

    def sign(self, queue: str, body: str) -> bytes:
        """The signature of a plan for one input queue; ``body`` is the exact text that is sent."""
        return self._key.sign((queue + body).encode(), padding.PKCS1v15(), hashes.SHA256())

    def derive(self, about: str, size: int) -> bytes:
        """Secret bytes that follow from the key and from what they are for; they say nothing about the key."""
        private = self._key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return HKDF(hashes.SHA256(), size, None, about.encode()).derive(private)

    def public_pem(self) -> str:
        """The public half as agents want it in ``engine_key``: PEM, PKCS#1, ends with a line feed."""
        return (
            self._key.public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.PKCS1)
            .decode("ascii")
        )


class KeyFile:
    """The key in a file: read at once where it is there, and made (`ensure_key`) when somebody wants it first.

    Making one takes half a second, and most tasks of an installation without servers want none. Raises
    `SigningKeyError`, later too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = load_key(path) if path.exists() else None

    def sign(self, queue: str, body: str) -> bytes:
        """See `SigningKey.sign`."""
        return self._loaded().sign(queue, body)

    def public_pem(self) -> str:
        """See `SigningKey.public_pem`."""
        return self._loaded().public_pem()

    def _loaded(self) -> SigningKey:
        if self._key is None:
            self._key = ensure_key(self._path)
        return self._key


def load_key(path: Path) -> SigningKey:
    """The key in a PEM (PKCS#1, PKCS#8) or OpenSSH file. Raises `SigningKeyError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SigningKeyError(f"cannot read the signing key {path}: {error.strerror}") from error
    try:
        if b"OPENSSH PRIVATE KEY" in data:
            key: object = serialization.load_ssh_private_key(data, None)
        else:
            # Whether its parts fit takes a tenth of a second for each host, and says nothing of who wrote the file.
            key = serialization.load_pem_private_key(data, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The library's own text may quote the key.
        raise SigningKeyError(f"the signing key {path} is no private key that can be read") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise SigningKeyError(f"the signing key {path} is no RSA key; agents check RSA signatures only")
    if key.key_size < SMALLEST:
        raise SigningKeyError(f"the signing key {path} has {key.key_size} bits; at least {SMALLEST} are needed")
    return SigningKey(key)


def ensure_key(path: Path) -> SigningKey:
    """The key in a file, which is made (mode 0600) if it is not there. Raises `SigningKeyError`.

    Several processes may do this at the same time: all get the same key.
    """
    if not path.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=NEW)
        data = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    os.link(draft, path)  # unlike rename it fails when another process was first
                except FileExistsError:
                    pass
            finally:
                draft.unlink()
        except OSError as error:
            raise SigningKeyError(f"cannot make the signing key {path}: {error.strerror}") from error
    return load_key(path)
