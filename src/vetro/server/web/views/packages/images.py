"""Images of the cloud: which ones forms offer, under which title, as which type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.errors import ServiceError, Unavailable
from vetro.server.forms import images
from vetro.server.language import translated
from vetro.server.web.page import go, page, render

_HERE = "/app/packages/images"


@page(rule="list_images")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All images of the cloud, marked ones first; a cloud that does not answer is said on the page."""
    region = request.GET.get("region", "")[:255]
    context: dict[str, Any] = {"region": region, "may_mark": allows(caller, "mark_images"), "types": images.TYPES}
    try:
        rows = images.listed(caller, region or None)
    except Unavailable as error:
        return render(request, "packages/images.html", {**context, "problem": error}, error.status)
    kinds = {row.type for row in rows if row.type}
    context |= {"rows": rows, "types": sorted({*images.TYPES, *kinds})}
    return render(request, "packages/images.html", context)


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
