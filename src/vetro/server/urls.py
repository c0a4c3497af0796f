"""Addresses of the service: /v1 Murano's API, /v2 ours, /app the pages; any other is answered by discovery."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import include, path, re_path
from django.utils.translation import gettext as _

from vetro.server.api.health import health, prometheus, ready
from vetro.server.api.v1 import endpoints as _endpoints  # registers them
from vetro.server.api.v1.discovery import discovery
from vetro.server.api.v1.routing import answer
from vetro.server.caller import Caller
from vetro.server.web.page import error_page, page

assert _endpoints is not None


def _v1(request: HttpRequest, rest: str) -> HttpResponse:
    # Endpoints decode segments themselves (`http.application` does the same without coming here).
    return answer(request, request.path_info[4:].replace("%", "%25"))


def _root(request: HttpRequest) -> HttpResponse:
    if "text/html" in request.META.get("HTTP_ACCEPT", ""):
        return HttpResponseRedirect("/app/")
    return discovery(request)


def _pages(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect("/app/")


@page("GET", "POST", public=True)
def _no_page(request: HttpRequest, caller: Caller | None) -> HttpResponse:
    return error_page(request, 404, _("There is no such page."))


def _other(request: HttpRequest, rest: str = "") -> HttpResponse:
    return discovery(request)


urlpatterns: list[Any] = [
    path("", _root),
    re_path(r"^v1(?:/(?P<rest>(?s:.*)))?\Z", _v1),
    path("v2/", include("vetro.server.api.v2.urls")),
    path("health", health),
    path("ready", ready),
    path("metrics", prometheus),
    path("app", _pages),
    path("app/media/", include("vetro.server.forms.media")),
    path("app/", include("vetro.server.web.urls")),
    re_path(r"^app/.*$", _no_page),
    re_path(r"^(?P<rest>(?s:.*))\Z", _other),
]
