"""Functions about text and secrets: ``base64encode base64decode randomName decryptData`` (SEMANTICS 16.1)."""

from __future__ import annotations

import base64
import binascii
import string
from typing import Any

from vetro.muranopl.errors import InvalidOperation
from vetro.muranopl.runtime.effects import UnknownEffect, plain
from vetro.yaql.resolve.signature import Param, Type, function

_LETTERS = string.ascii_lowercase
_NAME_LENGTH = 14


@function(
    "base64encode", style="FM", params=(Param("value", Type.ANY, check=lambda value: isinstance(value, (str, bytes))),)
)
def base64encode(cx: Any, value: str | bytes) -> str:
    """The text's UTF-8 bytes (or the bytes of a binary resource) in Base64."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    cx.rt.check_memory(len(data) * 4 // 3 + 4)
    return base64.b64encode(data).decode("ascii")


@function("base64decode", style="FM", params=(Param("value", Type.STR),))
def base64decode(value: str) -> str:
    """The text whose UTF-8 bytes are given in Base64. Raises `ValueError` for anything else."""
    try:
        return base64.b64decode(value, validate=False).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"text is no Base64 of UTF-8 text: {error}") from None


@function("randomName")
def random_name(cx: Any) -> str:
    """A name of 14 lower-case letters and digits that begins with a letter; fit for hosts and stacks.

    Drawn from the run's own random source, so a repeated run gets the same names.
    """
    first: str = cx.rt.rng.choice(_LETTERS)
    return first + "".join(cx.rt.rng.choices(_LETTERS + string.digits, k=_NAME_LENGTH - 1))


@function("decryptData", params=(Param("value", Type.ANY),))
def decrypt_data(cx: Any, value: Any) -> Any:
    """The secret that ``value`` refers to. Raises `InvalidOperation` where no secret store is configured."""
    secrets = getattr(cx.session, "secrets", None)
    try:
        opened = cx.session.perform("secret", {"data": plain(value)}) if secrets is None else secrets(value)
    except UnknownEffect:
        raise InvalidOperation(
            "no secret store is configured, decryptData() cannot read secrets",
            hint="give the engine a secrets function",
        ) from None
    cx.session.redaction.add(opened)
    return opened
