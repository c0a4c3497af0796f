"""Errors as /v2 answers them: ``{"error": {code, status, message, hint, details}}``, whatever went wrong.

Things of other projects are answered as unknown ones, with the same words.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.db import DatabaseError, OperationalError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from vetro.server.catalog.blobs import BlobMissing
from vetro.server.environments.errors import NotYours
from vetro.server.errors import Invalid, NotFound, ServiceError, TooLarge, Unavailable
from vetro.server.language import translated
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.api")
#: Kinds of failures of packages that say that something is not there.
_MISSING = frozenset(
    {
        "not-found", "class-not-found", "package-not-found", "method-not-found", "not-an-action",
        "no-matching-function", "no-matching-method", "no-function", "unresolved-call",
    }
)  # fmt: skip
#: Problems of one request that are listed, at most.
_MOST = 50
UNKNOWN = "There is no such thing."


def install(api: NinjaAPI) -> None:
    """Answers all errors of an API so."""
    # ninja's types allow for classes of exceptions, which it never gives.
    api.add_exception_handler(VetroError, lambda request, error: of_error(cast(VetroError, error)))
    api.add_exception_handler(ValidationError, lambda request, error: of_error(_invalid(cast(Any, error))))
    api.add_exception_handler(HttpError, lambda request, error: of_error(_http(cast(HttpError, error))))
    api.add_exception_handler(Exception, lambda request, error: of_anything(request, cast(Exception, error)))


def of_anything(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to any exception; a defect of the service is logged under a mark that the answer names."""
    if isinstance(error, VetroError):
        return of_error(error)
    if isinstance(error, RequestDataTooBig):
        return of_error(TooLarge("The body is larger than the service takes."))
    if isinstance(error, (MultiPartParserError, TooManyFieldsSent, TooManyFilesSent, UnreadablePostError)):
        return of_error(Invalid(f"The body cannot be read: {error}"))
    if isinstance(error, SuspiciousOperation):
        return of_error(Invalid("The request cannot be understood."))
    if isinstance(error, OperationalError):
        _log.warning("the database refused %s %s: %s", request.method, request.path_info, error)
        return of_error(Unavailable("The database is busy or cannot be reached.", hint="try again in a moment"))
    mark = secrets.token_hex(4)
    kind = "database" if isinstance(error, DatabaseError) else "defect"
    _log.exception("%s %s while answering %s %s", kind, mark, request.method, request.path_info, exc_info=error)
    text = f"A defect of the service; its log says more under {mark}."
    return respond(500, "SRV500", text)


def of_error(error: VetroError) -> HttpResponse:
    """The answer to an error of ours."""
    if isinstance(error, NotYours):
        error = NotFound(UNKNOWN)
    details = getattr(error, "details", None)
    if details is None:
        details = _told(error)
    response = respond(_status(error), error.code, error.message, error.hint, details)
    if isinstance(details, Mapping) and "retry_after" in details:
        response["Retry-After"] = str(details["retry_after"])
    elif response.status_code == 503:
        response["Retry-After"] = "1"
    return response


def respond(
    status: int, code: str, message: str, hint: str | None = None, details: Any = None, **headers: str
) -> HttpResponse:
    """An error in the form that all have."""
    error = {
        "code": code,
        "status": status,
        "message": translated(message),
        "hint": translated(hint) or None,
        "details": details,
    }
    body = json.dumps({"error": error}, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
    response = HttpResponse(body, content_type="application/json", status=status, headers=headers)
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="vetro"'
    response["Cache-Control"] = "no-store"
    return response


def _status(error: VetroError) -> int:
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, BlobMissing):
        return 503
    return 404 if error.kind in _MISSING else 400


def _told(error: VetroError) -> Any:
    """What a failure inside of a package says besides its message."""
    found = getattr(error, "error", None)
    if not isinstance(found, Mapping):
        return None
    return {name: found[name] for name in ("kind", "names", "position", "frames") if found.get(name)} or None


def _invalid(error: ValidationError) -> Invalid:
    problems = []
    for item in error.errors[:_MOST]:
        where = [str(step) for step in item.get("loc", ())]
        if where[:2] == ["body", "given"]:  # the name that the body has in our code says nothing to its sender
            del where[1]
        problems.append({"where": "/".join(where), "problem": str(item.get("msg", ""))})
    first = problems[0] if problems else {"where": "", "problem": "it is not what is expected"}
    # The value itself is not repeated: it may be a password.
    return Invalid(f"{first['where']}: {first['problem']}", details={"problems": problems})


def _http(error: HttpError) -> ServiceError:
    text = str(error)
    if error.status_code == 400:
        return Invalid("The body is no JSON, or cannot be read." if text.startswith("Cannot parse") else text)
    made = ServiceError(text)
    made.status = error.status_code  # type: ignore[misc]
    return made
