"""Version discovery (API.md 2): what anybody gets who asks for something that is neither /v1 nor /v2."""

from __future__ import annotations

import json
from functools import lru_cache
from io import BytesIO
from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse

#: Status and type of the answer.
STATUS, TYPE = 300, "application/json"
#: Longer addresses are not remembered.
_LONGEST = 255


def discovery(request: HttpRequest, status: int = STATUS) -> HttpResponse:
    """The versions of the API. No token needed."""
    return HttpResponse(_body(f"{request.scheme}://{request.get_host()}"), content_type=TYPE, status=status)


def at_root(environ: dict[str, Any]) -> bytes | None:
    """The body for a program that asks for ``/``, without Django; None for anything else.

    Load balancers and clients that look around ask for it more often than for anything else.
    """
    if environ["PATH_INFO"] != "/" or environ["REQUEST_METHOD"] != "GET" or environ.get("CONTENT_LENGTH"):
        return None
    host = environ.get("HTTP_HOST", "")
    if "HTTP_TRANSFER_ENCODING" in environ or len(host) > _LONGEST or "text/html" in environ.get("HTTP_ACCEPT", ""):
        return None
    return _at_host(environ["wsgi.url_scheme"], host, environ["SERVER_NAME"], environ["SERVER_PORT"])


@lru_cache(maxsize=256)
def _at_host(scheme: str, host: str, name: str, port: str) -> bytes | None:
    """None for a host that is not ours: Django refuses that itself."""
    environ: dict[str, Any] = {"REQUEST_METHOD": "GET", "wsgi.input": BytesIO(), "wsgi.url_scheme": scheme}
    environ |= {"SERVER_NAME": name, "SERVER_PORT": port, **({"HTTP_HOST": host} if host else {})}
    request = WSGIRequest(environ)
    try:
        return _body(f"{request.scheme}://{request.get_host()}")
    except DisallowedHost:
        return None


def _body(base: str) -> bytes:
    versions = [
        {"id": "v1.0", "status": "CURRENT", "links": [{"rel": "self", "href": f"{base}/v1/"}]},
        {"id": "v2", "status": "CURRENT", "links": [{"rel": "self", "href": f"{base}/v2/"}]},
    ]
    return json.dumps({"versions": versions}).encode()
