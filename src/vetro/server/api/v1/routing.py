"""Which endpoint answers a request to /v1, and how answers and errors are given (API.md 1).

Unknown paths and known paths with a wrong method are 404; a trailing slash matters. Errors are negotiated: HTML for
browsers and ``*/*`` (the published client sends that), JSON where JSON is asked for, else text.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable
from html import escape
from typing import Any, TypeVar
from urllib.parse import unquote

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError

from vetro.data_classes import dataclass
from vetro.server.accounts.authentication import caller_of
from vetro.server.accounts.policy import enforce
from vetro.server.api.v1.call import Call, InParts, Raw
from vetro.server.environments import simulation
from vetro.server.errors import Invalid, NotAcceptable, NotFound, NotSignedIn, ServiceError
from vetro.server.requests.buffered_response import BufferedResponse, buffered
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.api")

Endpoint = Callable[..., Any]
E = TypeVar("E", bound=Endpoint)

#: What stands where, of segments that are given, and the names of the others.
Places = tuple[tuple[int, str], ...]
#: (method, number of segments) -> [(segments given, placeholders, endpoint, policy rule, produced types)]
_routes: dict[tuple[str, int], list[tuple[Places, Places, Endpoint, str, tuple[str, ...]]]] = {}
#: (method, leading segments) for paths that go on freely (`{name*}` at the end).
_open_routes: list[tuple[str, tuple[str, ...], Endpoint, str, tuple[str, ...]]] = []
_TITLES = {
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 406: "Not Acceptable",
    408: "Request Timeout", 409: "Conflict", 413: "Request Entity Too Large", 415: "Unsupported Media Type",
    429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip
JSON = ("application/json",)
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


def endpoint(method: str, path: str, rule: str, produces: tuple[str, ...] = JSON) -> Callable[[E], E]:
    """Registers an endpoint: ``path`` below /v1/, with ``{name}`` for one segment and ``{name*}`` for all the rest.

    ``rule``: the policy rule that is checked before; '' for none. ``produces``: media types of the answer. The
    function gets the `Call` and the segments by name (decoded; the rest as a list); it returns plain data, a `Raw`,
    `InParts`, or None for an empty answer.
    """

    def register(function: E) -> E:
        segments = tuple(path.split("/"))
        if segments[-1].endswith("*}"):
            _open_routes.append((method, segments, function, rule, produces))
            _open_routes.sort(key=lambda route: -len(route[1]))
        else:
            _routes.setdefault((method, len(segments)), []).append((*_places(segments), function, rule, produces))
        return function

    return register


def find(method: str, path: str) -> tuple[Endpoint, dict[str, Any], str, tuple[str, ...]] | None:
    """The endpoint for a path below /v1/ (still encoded), with the values of its placeholders."""
    given = path.split("/")
    for fixed, named, function, rule, produces in _routes.get((method, len(given)), ()):
        values = _match(fixed, named, given)
        if values is not None:
            return function, values, rule, produces
    for wanted, segments, function, rule, produces in _open_routes:
        if wanted == method and len(given) >= len(segments):
            values = _match(*_places(segments[:-1]), given)
            if values is not None:
                rest = [unquote(item) for item in given[len(segments) - 1 :]]
                return function, {**values, segments[-1][1:-2]: rest}, rule, produces
    return None


def _places(segments: tuple[str, ...]) -> tuple[Places, Places]:
    fixed = tuple((place, text) for place, text in enumerate(segments) if text[:1] != "{")
    return fixed, tuple((place, text[1:-1]) for place, text in enumerate(segments) if text[:1] == "{")


def _match(fixed: Places, named: Places, given: list[str]) -> dict[str, Any] | None:
    for place, text in fixed:
        if given[place] != text:
            return None
    values = {}
    for place, name in named:
        if not given[place]:
            return None
        values[name] = unquote(given[place])
    return values


@dataclass(frozen=True, slots=True)
class Plain:
    """An answer as it goes to the client, by name of header."""

    status: int
    body: bytes | BufferedResponse
    headers: dict[str, str]


def answer(request: HttpRequest, path: str) -> HttpResponse:
    """`respond` for Django."""
    plain = respond(request, path)
    return HttpResponse(plain.body, status=plain.status, headers=plain.headers)


def respond(request: HttpRequest, path: str) -> Plain:
    """The answer to a request for ``/v1/`` + path. Never raises."""
    try:
        return _respond(request, path)
    except ServiceError as error:
        plain = error_response(request, error.status, error.recorded or error.message, error.hint)
        if isinstance(error.details, dict) and "retry_after" in error.details:
            plain.headers["Retry-After"] = str(error.details["retry_after"])
    except (SuspiciousOperation, MultiPartParserError) as error:  # too many parameters or parts, too large, malformed
        plain = error_response(request, 413 if isinstance(error, RequestDataTooBig) else 400, str(error))
    except VetroError as error:
        plain = error_response(request, 400, error.message, error.hint)
    except OperationalError as error:
        _log.warning("the database refused %s /v1/%s: %s", request.method, path, error)
        plain = error_response(request, 503, "The database is busy or cannot be reached; try again in a moment.")
        plain.headers["Retry-After"] = "1"
    except Exception:
        mark = secrets.token_hex(4)
        _log.exception("defect %s while answering %s /v1/%s", mark, request.method, path)
        plain = error_response(request, 500, f"A defect of the service; its log says more under {mark}.")
    return plain


def _respond(request: HttpRequest, path: str) -> Plain:
    query = request.META.get("QUERY_STRING", "")
    if "\0" in path or "%00" in query or "\0" in query or "\0" in request.META.get("HTTP_X_CONFIGURATION_SESSION", ""):
        raise Invalid("The address holds the character U+0000.")
    if request.method == "OPTIONS":
        return Plain(200, b"", {"Content-Type": "text/html; charset=utf-8"})
    try:
        caller = caller_of(request)
    except NotSignedIn as error:
        return _unauthorized(request, error.message)
    found = find(request.method or "", path.lstrip("/"))
    if found is None:
        raise NotFound("The resource could not be found.")
    function, values, rule, produces = found
    if not accepts(request, produces):
        raise NotAcceptable(f"This is available as {', '.join(produces)} only.")
    if rule:
        enforce(caller, rule)
    answer = _plain(function(Call(request, caller), **values), produces[0])
    if "environment_id" in values and simulation.of_address(caller, values):
        answer.headers[simulation.HEADER] = simulation.VALUE
    return answer


def _plain(data: Any, content_type: str) -> Plain:
    """What an endpoint returned, as an answer."""
    if data is None:
        return Plain(200, b"", {"Content-Type": content_type})
    if isinstance(data, Raw):
        body = data.data.encode() if isinstance(data.data, str) else data.data
        return Plain(200, body, {"Content-Type": data.content_type})
    if isinstance(data, InParts):
        return Plain(200, buffered(data.parts), {"Content-Type": content_type})
    return Plain(200, _encode(data).encode(), {"Content-Type": "application/json"})


def accepts(request: HttpRequest, produces: tuple[str, ...]) -> bool:
    """Whether the client takes one of these types."""
    header = request.META.get("HTTP_ACCEPT", "")
    if not header or header == "*/*":
        return True
    for item in header.split(","):
        wanted = item.partition(";")[0].strip().lower()
        if wanted in ("*/*", "") or wanted in produces:
            return True
        if wanted.endswith("/*") and any(p.startswith(wanted[:-1]) for p in produces):
            return True
    return False


def _unauthorized(request: HttpRequest, message: str) -> Plain:
    """Who has no valid token is told in JSON where to get one, whatever is accepted."""
    body = {"error": {"code": 401, "title": _TITLES[401], "message": message}}
    headers = {"Content-Type": "application/json", "WWW-Authenticate": _where(request)}
    return Plain(401, json.dumps(body).encode(), headers)


def _where(request: HttpRequest) -> str:
    """Where somebody signs in; every 401 says so."""
    return f'Keystone uri="{request.scheme}://{request.get_host()}/v2/auth"'


def error_response(request: HttpRequest, status: int, message: str, hint: str | None = None) -> Plain:
    """An error as the client understands it (API.md 1, "Trap for a new server")."""
    title = _TITLES.get(status, "Error")
    text = f"{message} ({hint})" if hint else message
    text = text.encode("utf-8", "replace").decode()  # halves of surrogate pairs that a client sent
    accept = request.META.get("HTTP_ACCEPT", "") or "*/*"
    if "text/html" in accept or "*/*" in accept:
        kind = "text/html; charset=UTF-8"
        body = (
            f"<html>\n <head>\n  <title>{status} {title}</title>\n </head>\n <body>\n  <h1>{status} {title}</h1>\n"
            f"  {escape(text)}<br /><br />\n\n\n\n </body>\n</html>"
        )
    elif "json" in accept:
        kind = "application/json"
        body = json.dumps({"message": text, "code": f"{status} {title}", "title": title})
    else:
        kind, body = "text/plain; charset=UTF-8", f"{status} {title}\n\n{text}\n"
    plain = Plain(status, body.encode(), {"Content-Type": kind})
    if status == 401:
        plain.headers["WWW-Authenticate"] = _where(request)
    return plain
