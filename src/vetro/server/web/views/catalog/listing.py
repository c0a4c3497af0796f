"""The catalog: applications as tiles, searched while one types, narrowed by categories and tags together."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import answers, fuzzy_search, search
from vetro.server.web.page import page, render
from vetro.server.web.views.catalog import facets, into, recent
from vetro.server.web.views.packages.rows import completed, found, texts

#: Tiles of a page.
AT_ONCE = 24
_SORTS = ("", "name", "-created")
#: A tag by which whoever offers an application puts it in front, and how many stand there; applications that are
#: looked at as installed.
FEATURED, _FEATURED, _INSTALLED = "featured", 4, 500


@page(rule="get_package")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The tiles; a part of them where a script asks."""
    given = request.GET
    words = given.get("q", "").strip()[:500].replace("\0", "")
    sort = given.get("sort", "")
    if sort not in _SORTS or not (sort or words):
        sort = "" if words else "name"
    categories, tags = _plain(given.getlist("category")), _plain(given.getlist("tag"))
    installed = given.get("installed") == "1"
    sides = facets.of(caller)
    query = search.Query(
        search=words,
        categories=categories,
        tags=[name for tag in tags for name in sides.spellings.get(tag.lower(), (tag,))],
        fqns=(recent.installed(caller, _INSTALLED) or ["-"]) if installed else (),
        type="Application",
        catalog=True,
        order_by=[sort.lstrip("-")] if sort else [],
        descending=sort.startswith("-"),
    )
    rows, after, forgiven = _found(caller, query, given.get("after", ""))
    more = given.copy()
    more["after"] = after
    filtered = bool(words or categories or tags or installed)
    context: dict[str, Any] = {
        "rows": recent.with_uses(caller, rows), "q": words, "sort": sort, "filtered": filtered,
        "first": not given.get("after"), "more": more.urlencode() if after else "", "forgiven": forgiven,
        "narrowed": bool(categories or tags or installed), "into": into.of(request, caller),
        "sorts": [*([("", _("Best match"))] if words else []), ("name", _("Name")), ("-created", _("Newest"))],
    }  # fmt: skip
    part = {"results": "results", "more": "tiles"}.get(request.headers.get("HX-Target", ""))
    if part is not None:
        return render(request, f"catalog/{part}.html", context)
    begin = not filtered and context["first"]
    context |= {
        "categories": _ticked(sides.categories, categories),
        "tags": _ticked(sides.tags, tags),
        "chosen_tags": len(tags),
        "installed": installed,
        "anything": sides.anything or bool(rows),
        "recent": recent.packages(request, caller) if begin else [],
        "featured": _featured(caller, sides) if begin else [],
        "may_import": allows(caller, "upload_package"),
    }
    return render(request, "catalog/listing.html", context)


def _found(caller: Caller, query: search.Query, after: str) -> tuple[list[dict[str, Any]], str, Any]:
    """(tiles, where the next page begins, what was forgiven); words are searched by what people mean."""
    if not query.search:
        return (*found(caller, query, AT_ONCE, after), None)
    skip = int(after) if after.isascii() and after.isdigit() and len(after) < 6 else 0
    query.limit = AT_ONCE
    result = fuzzy_search.find(caller, query, skip)
    rows = completed(caller, [answers.package_json(row) for row in result.rows])
    return rows, str(skip + AT_ONCE) if result.more else "", result


def _featured(caller: Caller, sides: facets.Facets) -> list[dict[str, Any]]:
    """What was tagged so, by name: the project's own, and what is offered to all."""
    spellings = sides.spellings.get(FEATURED, ())
    if not spellings:
        return []
    query = search.Query(tags=spellings, type="Application", catalog=True, order_by=["name"])
    return found(caller, query, _FEATURED)[0]


def _plain(values: list[str]) -> list[str]:
    return texts([value.replace("\0", "") for value in values])


def _ticked(offered: tuple[tuple[str, int], ...], chosen: list[str]) -> list[tuple[str, int, bool]]:
    """(name, number, chosen); what was chosen is offered even if nothing is behind it. Case tells no names apart."""
    wanted = {name.lower(): name for name in chosen}
    known = [(name, number, wanted.pop(name.lower(), None) is not None) for name, number in offered]
    return known + [(name, 0, True) for name in wanted.values()]
