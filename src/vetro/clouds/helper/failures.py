"""How errors of the cloud helper come back to the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.clouds.drivers import errors
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.drivers.values import ValueInvalid
from vetro.clouds.interface import CloudError, Conflict, NotAvailable, NotFound
from vetro.diagnostics import decode_messages, encode_messages

#: Errors that callers tell apart, by their codes.
_ERRORS: Mapping[str, type[CloudError]] = {
    kind.code: kind
    for kind in (
        DriverError, errors.HelperAway, errors.HelperRefused, errors.HostFailed, errors.ServerBootFailed,
        errors.AddressTaken, errors.GuestCommandFailed, errors.ImageBuildFailed, errors.ImageMissing,
        errors.ImageDamaged, errors.ImageBusy, NotFound, NotAvailable, Conflict, ValueInvalid,
    )
}  # fmt: skip


def failure(error: CloudError) -> dict[str, Any]:
    """The answer that tells of an error."""
    told: dict[str, Any] = encode_messages({"message": error.message, "hint": error.hint})
    return {"t": "failed", "code": error.code, **told}


def error_of(answer: Mapping[str, Any]) -> CloudError:
    """The error that an answer tells of."""
    told = decode_messages({name: value for name, value in answer.items() if name not in ("t", "code")})
    error = _ERRORS.get(str(answer.get("code")), errors.HostFailed)(told["message"])
    error.hint = told["hint"]
    return error
