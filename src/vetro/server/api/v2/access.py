"""Who may use an endpoint: `Access` finds the caller, checks the policy rule, and looks at the type of the body.

A token comes as ``X-Auth-Token`` or ``Authorization: Bearer``. Without one the web session of the pages counts; writes
then need the CSRF token in ``X-CSRFToken``, as those of the pages do.
"""

from __future__ import annotations

from typing import Any, Literal

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, QueryDict
from ninja.security import APIKeyHeader, HttpBearer
from ninja.utils import check_csrf

from vetro.server.accounts.authentication import caller_of
from vetro.server.accounts.policy import enforce
from vetro.server.accounts.sessions import SessionStore
from vetro.server.accounts.web_sessions import caller_of_session
from vetro.server.api.v2.parsing import body_of
from vetro.server.caller import Caller
from vetro.server.errors import Forbidden, Invalid, NotSignedIn, TooLarge, UnsupportedType

Takes = Literal["", "json", "multipart", "bytes"]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TYPES = {"json": "application/json", "multipart": "multipart/form-data", "bytes": "application/octet-stream"}


def who(request: HttpRequest) -> Caller:
    """The caller of a request that `Access` let through."""
    caller: Caller = request.auth  # type: ignore[attr-defined]
    return caller


def find_caller(request: HttpRequest) -> Caller:
    """The caller by token or web session. Raises `NotSignedIn`, `Forbidden` for a write without CSRF token."""
    meta = request.META
    if meta.get("HTTP_X_AUTH_TOKEN") or meta.get("HTTP_AUTHORIZATION"):
        return caller_of(request, bearer=True)
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if key:
        caller = _of_session(request, key)
        if caller is not None:
            meta["vetro.caller"] = caller
            return caller
    raise NotSignedIn("This needs a token.", hint="send one as X-Auth-Token; POST /v2/auth/login gives one")


def _of_session(request: HttpRequest, key: str) -> Caller | None:
    request.session = SessionStore(key)
    caller = caller_of_session(request)
    if caller is not None and request.method not in _SAFE and check_csrf(request) is not None:
        raise Forbidden(
            "The CSRF token is missing or wrong.", hint="send the value of cookie vetro_csrf as X-CSRFToken"
        )
    return caller


class Token(APIKeyHeader):
    """The scheme of security as OpenAPI describes it; finds the caller whichever way they signed in."""

    param_name = "X-Auth-Token"

    def __init__(self, rule: str = "", takes: Takes = "") -> None:
        super().__init__()
        self.rule = rule
        self.takes = takes

    def __call__(self, request: HttpRequest) -> Any:
        """The caller, if the rule lets them; called by ninja before it looks at the request."""
        caller = find_caller(request)
        if self.rule:
            enforce(caller, self.rule)
        check_body(request, self.takes)
        return caller

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        """Not used: `__call__` does all of it."""
        raise NotImplementedError


class Bearer(HttpBearer):
    """Described only: `Token` takes both headers."""

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        """Not used."""
        raise NotSignedIn("This needs a token.")


def access(rule: str, takes: Takes = "") -> list[Any]:
    """What ninja calls before an endpoint: ``rule`` of the policy, '' for everybody who is signed in."""
    return [Token(rule, takes), Bearer()]


def check_fields(fields: QueryDict) -> None:
    """Raises `Invalid` for parameters of an address or a form that no database holds."""
    for name, values in fields.lists():
        for value in (name, *values):
            if "\0" in value:
                raise Invalid(f"Parameter '{name[:80]}' holds the character U+0000.".replace("\0", ""))
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise Invalid("A parameter holds half of a surrogate pair.")


def check_body(request: HttpRequest, takes: Takes) -> None:
    """Raises `UnsupportedType` for a body of another type, `TooLarge`, `Invalid` for one that is no JSON."""
    if not takes:
        return
    given = (request.META.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower()
    wanted = _TYPES[takes]
    try:
        if takes == "json":
            if not request.body:
                return
            if given != wanted and not (given.startswith("application/") and given.endswith("+json")):
                raise UnsupportedType(f"The body must be of type {wanted}, not '{given[:80] or 'none'}'.")
            body_of(request)
        elif given != wanted:
            if not given and request.META.get("CONTENT_LENGTH") in (None, "", "0"):
                raise Invalid(f"The body is missing; send {wanted}.")
            raise UnsupportedType(f"The body must be of type {wanted}, not '{given[:80] or 'none'}'.")
        elif takes == "multipart":
            check_fields(request.POST)
    except RequestDataTooBig:
        raise TooLarge(f"The body has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0:,} bytes.") from None
