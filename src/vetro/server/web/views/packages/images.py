"""Images of the cloud: which ones forms offer, under which title, as which type."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments import image_builds, lookup
from vetro.server.environments.simulation import of_service
from vetro.server.errors import ServiceError, Unavailable
from vetro.server.forms import images
from vetro.server.language import translated
from vetro.server.web.page import go, page, render

_HERE = "/app/packages/images"


@page(rule="list_images")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All images of the cloud, marked ones first; a cloud that does not answer is said on the page."""
    region = request.GET.get("region", "")[:255]
    context: dict[str, Any] = {"region": region, "types": images.TYPES}
    context |= {"may_mark": allows(caller, "mark_images"), "may_build": allows(caller, "build_images")}
    try:
        rows = images.listed(caller, region or None)
    except Unavailable as error:
        return render(request, "packages/images.html", {**context, "problem": error}, error.status)
    kinds = {row.type for row in rows if row.type}
    context |= {"rows": rows, "types": sorted({*images.TYPES, *kinds})}
    return render(request, "packages/images.html", context)


@page("GET", "POST", rule="build_images")
def build(request: HttpRequest, caller: Caller) -> HttpResponse:
    """How the image is built that servers start from; begins that. Then the environment that somebody came from, which
    is made real by this page where somebody has said so."""
    given = request.POST if request.method == "POST" else request.GET
    environment = given.get("environment", "")[:64]
    asked = {"environment": environment, "then": given.get("then", "") and "realize"} if environment else {}
    again = f"{_HERE}/build?{urlencode(asked)}" if asked else f"{_HERE}/build"
    if request.method == "POST":
        try:
            image_builds.begin(caller)
        except ServiceError as error:
            messages.error(request, translated(error.message) + (f" {translated(error.hint)}" if error.hint else ""))
        return go(request, again)
    found = image_builds.offer()
    seconds = None if found.build is None else int((found.build.ended or time.time()) - found.build.begun)
    context: dict[str, Any] = {"offer": found, "build": found.build, "seconds": seconds, "again": again}
    if environment:
        context |= {"environment": lookup.environment(caller, environment), "then": bool(asked["then"])}
    context["real"] = not of_service()
    part = request.headers.get("HX-Target") == "build"
    return render(request, "packages/image_build_part.html" if part else "packages/image_build.html", context)


@page("POST", rule="mark_images")
def mark(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Makes forms offer an image, or changes how."""
    given = request.POST
    title, kind = given.get("title", ""), given.get("type", "")
    done = _("Forms offer the image as %(title)s now.") % {"title": title.strip()}
    return _done(request, done, lambda region: images.mark(caller, given.get("image", ""), title, kind, region))


@page("POST", rule="mark_images")
def unmark(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Makes forms offer an image no more."""
    done = _("Forms do not offer the image any more.")
    return _done(request, done, lambda region: images.unmark(caller, request.POST.get("image", ""), region))


def _done(request: HttpRequest, text: str, act: Callable[[str | None], Any]) -> HttpResponse:
    """What went wrong is told on the page where it was tried."""
    region = request.POST.get("region", "")[:255] or None
    try:
        act(region)
    except ServiceError as error:
        messages.error(request, translated(error.message))
    else:
        messages.success(request, text)
    return go(request, f"{_HERE}?{urlencode({'region': region})}" if region else _HERE)
