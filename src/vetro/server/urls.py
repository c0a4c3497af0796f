"""Addresses of the service: /v1 Murano's API, /v2 ours, /app the pages; any other is answered by discovery."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, re_path

from vetro.server.api.v1 import endpoints as _endpoints  # registers them
from vetro.server.api.v1.discovery import discovery
from vetro.server.api.v1.routing import answer

assert _endpoints is not None


def _v1(request: HttpRequest, rest: str) -> HttpResponse:
    # The path as the client encoded it: a '/' inside a segment is not a separator.
    raw = request.META.get("RAW_PATH_INFO") or request.path_info
    return answer(request, raw.removeprefix("/v1").removeprefix("/") if rest is not None else "")


def _root(request: HttpRequest) -> HttpResponse:
    if "text/html" in request.META.get("HTTP_ACCEPT", ""):
        return HttpResponseRedirect("/app/")
    return discovery(request)


def _other(request: HttpRequest, rest: str = "") -> HttpResponse:
    return discovery(request)


urlpatterns: list[Any] = [
    path("", _root),
    re_path(r"^v1(?:/(?P<rest>.*))?$", _v1),
    re_path(r"^(?P<rest>.*)$", _other),
]
