"""The catalog: applications as tiles, searched while one types, narrowed by categories and tags together."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import vetro
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import search
from vetro.server.catalog.imports import import_packages
from vetro.server.errors import Unavailable
from vetro.server.web.page import go, page, render
from vetro.server.web.views.catalog import facets, recent
from vetro.server.web.views.packages.rows import found, texts

#: Tiles of a page.
AT_ONCE = 24
_SORTS = ("name", "-created")


@page(rule="get_package")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The tiles; a part of them where a script asks."""
    given = request.GET
    sort = given.get("sort", "name")
    if sort not in _SORTS:
        sort = "name"
    words = given.get("q", "").strip()[:500].replace("\0", "")
    categories, tags = _plain(given.getlist("category")), _plain(given.getlist("tag"))
    query = search.Query(
        search=words,
        categories=categories,
        tags=tags,
        type="Application",
        catalog=True,
        order_by=[sort.lstrip("-")],
        descending=sort.startswith("-"),
    )
    rows, after = found(caller, query, AT_ONCE, given.get("after", ""))
    more = given.copy()
    more["after"] = after
    filtered = bool(words or categories or tags)
    context: dict[str, Any] = {
        "rows": rows, "q": words, "sort": sort, "filtered": filtered, "first": not given.get("after"),
        "more": more.urlencode() if after else "",
        "sorts": [("name", _("Name")), ("-created", _("Newest"))],
    }  # fmt: skip
    part = {"results": "results", "more": "tiles"}.get(request.headers.get("HX-Target", ""))
    if part is not None:
        return render(request, f"catalog/{part}.html", context)
    sides = facets.of(caller)
    context |= {
        "categories": _ticked(sides.categories, categories),
        "tags": _ticked(sides.tags, tags),
        "chosen_tags": len(tags),
        "anything": sides.anything or bool(rows),
        "recent": recent.packages(request, caller) if not filtered and context["first"] else [],
        "may_import": allows(caller, "upload_package"),
    }
    return render(request, "catalog/listing.html", context)


@page("POST", rule="upload_package")
def examples(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Imports the example packages into the project; those that are there already are left alone."""
    data = _archives()
    if not data:
        raise Unavailable(_("The example packages are not part of this installation."))
    done = import_packages(caller, data, skip_existing=True)
    facets.forget(caller.project_id)
    number = len(done.packages)
    messages.success(request, ngettext("%d package is imported.", "%d packages are imported.", number) % number)
    return go(request, "/app/catalog/")


def _plain(values: list[str]) -> list[str]:
    return texts([value.replace("\0", "") for value in values])


def _ticked(offered: tuple[tuple[str, int], ...], chosen: list[str]) -> list[tuple[str, int, bool]]:
    """(name, number, chosen); what was chosen is offered even if nothing is behind it."""
    known = [(name, number, name in chosen) for name, number in offered]
    return known + [(name, 0, True) for name in chosen if name not in dict(offered)]


def _examples() -> Path | None:
    """Where the examples are: beside the program as it is installed, else in the checkout; None without them."""
    program = Path(vetro.__file__).parent
    for place in (program / "examples", program.parent.parent / "examples"):
        if (place / "README.md").is_file():
            return place
    return None


@cache
def _archives() -> tuple[bytes, ...]:
    """The packages of examples/, in all their versions: what fills an empty catalog with one click."""
    from vetro.packages.checks.paths import package_paths
    from vetro.packages.load import open_package

    place = _examples()
    return () if place is None else tuple(open_package(path).blob for path in package_paths(str(place)))
