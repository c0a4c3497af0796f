"""Addresses below /v2/. Around each view: what is wrong with a request whatever it is about, errors of the frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, re_path

from vetro.server.api.v2 import failures
from vetro.server.api.v2.access import check_fields
from vetro.server.api.v2.api import api
from vetro.server.caller import Caller
from vetro.server.environments import simulation
from vetro.server.errors import Invalid

View = Callable[..., HttpResponseBase]


def guarded(view: View) -> View:
    """The view, with errors in the form of /v2 also where ninja or Django would answer otherwise."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        try:
            _check_address(request)
            response = view(request, *args, **values)
            if values and response.status_code < 400 and _simulated(request, values):
                response.headers[simulation.HEADER] = simulation.VALUE
        except Exception as error:
            return failures.of_anything(request, error)
        if response.status_code == 405:
            allowed = ", ".join(sorted(response.get("Allow", "").split(", ")))
            text = f"{request.method} cannot be used here; allowed: {allowed}."
            return failures.respond(405, "SRV405", text, Allow=allowed)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response

    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer


def _simulated(request: HttpRequest, values: dict[str, Any]) -> bool:
    caller = getattr(request, "auth", None)
    return isinstance(caller, Caller) and simulation.of_address(caller, values)


def _check_address(request: HttpRequest) -> None:
    if "\0" in request.path_info:
        raise Invalid("The address holds the character U+0000.")
    check_fields(request.GET)


@guarded
def nowhere(request: HttpRequest, rest: str = "") -> HttpResponse:
    """For addresses that there are not."""
    return failures.respond(404, "SRV404", "There is no such address.", hint="GET /v2/openapi.json lists all")


def _guarded(pattern: Any) -> URLPattern:
    return URLPattern(pattern.pattern, guarded(pattern.callback), pattern.default_args, pattern.name)


#: The last one takes line breaks, too, which those of Django do not.
urlpatterns: list[Any] = [*(_guarded(pattern) for pattern in api.urls[0]), re_path(r"^(?P<rest>(?s:.*))\Z", nowhere)]
