"""Checks signatures of plans with the standard library: RSA, PKCS#1 v1.5, SHA-256 (AGENT.md 2)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re

_PEM = re.compile(r"-----BEGIN (RSA PUBLIC KEY|PUBLIC KEY)-----(.*?)-----END \1-----", re.DOTALL)
_INTEGER, _BITS, _SEQUENCE = 0x02, 0x03, 0x30
#: What stands before the digest in a signature: the name of SHA-256 and the length of the digest, in DER.
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class KeyInvalid(Exception):
    """engine_key is no RSA public key."""


class PublicKey:
    """A public key from PEM text: PKCS#1, or the X.509 form that contains the same. Raises `KeyInvalid`."""

    def __init__(self, pem: str) -> None:
        found = _PEM.search(pem)
        if found is None:
            raise KeyInvalid("engine_key must be a public key in PEM form (BEGIN RSA PUBLIC KEY)")
        try:
            data = base64.b64decode("".join(found.group(2).split()), validate=True)
            sequence, _ = _element(data, _SEQUENCE)
            if found.group(1) == "PUBLIC KEY":
                _, rest = _element(sequence, _SEQUENCE)  # the name of the algorithm
                bits, _ = _element(rest, _BITS)
                sequence, _ = _element(bits[1:], _SEQUENCE)
            modulus, rest = _element(sequence, _INTEGER)
            exponent, _ = _element(rest, _INTEGER)
        except (binascii.Error, ValueError, IndexError) as error:
            raise KeyInvalid(f"engine_key cannot be read: {error}") from None
        self._modulus = int.from_bytes(modulus, "big")
        self._exponent = int.from_bytes(exponent, "big")
        self._size = (self._modulus.bit_length() + 7) // 8
        if self._size < 128 or self._exponent < 3 or not self._exponent & 1:
            raise KeyInvalid("engine_key is too small to be an RSA key")

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether the signature was made for these bytes."""
        number = int.from_bytes(signature, "big")
        if len(signature) != self._size or number >= self._modulus:
            return False
        opened = pow(number, self._exponent, self._modulus).to_bytes(self._size, "big")
        tail = _SHA256 + hashlib.sha256(data).digest()
        # The whole block is built and compared: reading it piece by piece is how forgeries got through elsewhere.
        wanted = b"\0\1" + b"\xff" * (self._size - len(tail) - 3) + b"\0" + tail
        return hmac.compare_digest(opened, wanted)


def _element(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """Content of the first DER element, and what follows it."""
    if data[0] != tag:
        raise ValueError("unexpected element")
    length, start = data[1], 2
    if length & 0x80:
        start = 2 + (length & 0x7F)
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise ValueError("it is cut off")
    return data[start : start + length], data[start + length :]
