"""What the rules of the service refuse, and as which status of HTTP it is answered."""

from __future__ import annotations

from typing import Any, ClassVar

from vetro.yaql.errors import VetroError


class ServiceError(VetroError):
    """Root: a request that is refused. ``details`` is plain data for clients: what is in the way, what there is."""

    kind = "error"
    code = "SRV400"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, hint: str | None = None, details: Any = None, recorded: str = "") -> None:
        super().__init__(message)
        #: What /v1 says instead, where the recorded API has words of its own (API.md).
        self.recorded = recorded
        if hint is not None:
            self.hint = hint
        self.details = details


class Invalid(ServiceError):
    """The request itself is wrong: a missing name, a wrong type, an unknown key."""

    kind = "bad-argument"
    code = "SRV401"


class NotSignedIn(ServiceError):
    """No token, or one that is unknown, expired or revoked."""

    kind = "forbidden"
    code = "SRV402"
    status = 401


class Forbidden(ServiceError):
    """The caller may not do this, or not now."""

    kind = "forbidden"
    code = "SRV403"
    status = 403


class NotFound(ServiceError):
    """There is no such thing, or none that the caller may know of."""

    kind = "not-found"
    code = "SRV404"
    status = 404


class Conflict(ServiceError):
    """Something with this name is there already, or was changed meanwhile."""

    kind = "conflict"
    code = "SRV409"
    status = 409


class NotAcceptable(ServiceError):
    """The answer cannot be given in a form that the client accepts."""

    kind = "bad-argument"
    code = "SRV406"
    status = 406


class TooSlow(ServiceError):
    """The body of the request did not arrive in time."""

    kind = "limit"
    code = "SRV408"
    status = 408


class TooLarge(ServiceError):
    """The body is larger than the service takes."""

    kind = "limit"
    code = "SRV413"
    status = 413


class UnsupportedType(ServiceError):
    """The body is of a type that is not understood here."""

    kind = "bad-argument"
    code = "SRV415"
    status = 415


class TooMany(ServiceError):
    """Too many attempts; ``details.retry_after`` says when to come again, in seconds."""

    kind = "limit"
    code = "SRV429"
    status = 429


class Unavailable(ServiceError):
    """Something the service needs is not there at the moment."""

    kind = "error"
    code = "SRV503"
    status = 503
