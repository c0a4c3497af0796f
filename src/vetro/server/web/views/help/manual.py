"""The manual: its pages, a search in it, and the section about the page that somebody looks at."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.web import manual
from vetro.server.web.page import missing, page, render
from vetro.server.web.topics import PAGE, TOPICS


@page()
def index(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The beginning of the manual, or what a search in it finds."""
    words = request.GET.get("q", "").strip()[:200]
    found = manual.search(words) if words else []
    context = {"q": words, "found": found, "page": manual.pages().get("index"), "pages": _listed()}
    part = request.headers.get("HX-Target") == "results"
    return render(request, "help/results.html" if part else "help/index.html", context)


@page()
def show(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """One page."""
    found = manual.pages().get(name)
    if found is None:
        raise missing(_("page"))
    return render(request, "help/page.html", {"page": found, "pages": _listed()})


@page()
def about(request: HttpRequest, caller: Caller, topic: str) -> HttpResponse:
    """The section about a page, for the drawer beside it."""
    found = manual.section(PAGE, topic) if topic in TOPICS.values() else None
    if found is None:
        raise missing(_("page"))
    return render(request, "help/about.html", {"section": found})


def _listed() -> list[tuple[str, str]]:
    """(name, title) of the pages, by title."""
    return sorted(((one.name, one.title) for one in manual.pages().values()), key=lambda item: item[1].lower())
