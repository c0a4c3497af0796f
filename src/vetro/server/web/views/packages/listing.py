"""The table of packages, and what is done with several of them at once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import search, service
from vetro.server.catalog.models import Category
from vetro.server.errors import Forbidden, Invalid, ServiceError
from vetro.server.language import translated
from vetro.server.web.page import go, page, render
from vetro.server.web.views.catalog import facets
from vetro.server.web.views.packages.rows import found, texts

#: Rows of a page.
AT_ONCE = 50
_SORTS = ("name", "-created", "fqn")
#: What several packages can be made at once: word -> (value to change, what it becomes).
_CHANGES: dict[str, tuple[str, bool]] = {
    "enable": ("enabled", True),
    "disable": ("enabled", False),
    "publish": ("is_public", True),
    "withdraw": ("is_public", False),
}


@page(rule="get_package")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All packages that the person sees, every version, disabled ones too."""
    given = request.GET
    kind = given.get("type", "")
    sort = given.get("sort", "name")
    if sort not in _SORTS:
        sort = "name"
    chosen: dict[str, Any] = {
        "q": given.get("q", "").strip()[:500].replace("\0", ""),
        "type": kind if kind in ("Application", "Library") else "",
        "category": given.get("category", "")[:80].replace("\0", ""),
        "owned": given.get("owned") == "1",
        "newest": given.get("newest") == "1",
        "sort": sort,
    }
    query = search.Query(
        search=chosen["q"],
        type=chosen["type"] or None,
        categories=[chosen["category"]] if chosen["category"] else (),
        owned=chosen["owned"],
        include_disabled=True,
        catalog=chosen["newest"],
        order_by=[sort.lstrip("-")],
        descending=sort.startswith("-"),
    )
    rows, after = found(caller, query, AT_ONCE, given.get("after", ""))
    more = given.copy()
    more["after"] = after
    context = {
        **chosen,
        "rows": rows,
        "more": more.urlencode() if after else "",
        "filtered": any(chosen[name] for name in ("q", "type", "category", "owned", "newest")),
        "categories": Category.objects.order_by("name").values_list("name", flat=True),
        "sorts": [("name", _("Name")), ("-created", _("Newest")), ("fqn", _("Full name"))],
        "may_import": allows(caller, "upload_package"),
        "may_change": allows(caller, "modify_package"),
        "may_publish": allows(caller, "publicize_package"),
        "may_delete": allows(caller, "delete_package"),
        "may_categories": allows(caller, "add_category"),
        "may_images": allows(caller, "list_images"),
    }
    part = {"results": "results", "more": "rows"}.get(request.headers.get("HX-Target", ""), "listing")
    return render(request, f"packages/{part}.html", context)


@page("POST")
def bulk(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Does one thing with all packages that were ticked; what cannot be done is told one by one."""
    ids = texts(request.POST.getlist("id"), 200)
    what = request.POST.get("what", "")
    back = "/app/packages/"
    if not ids:
        messages.info(request, _("Tick the packages first."))
        return go(request, back)
    if what == "delete":
        return go(request, f"/app/packages/delete?{urlencode({'id': ids}, doseq=True)}")
    if what not in _CHANGES:
        raise Invalid(_("There is no such operation."))
    name, value = _CHANGES[what]
    if not allows(caller, "modify_package"):
        raise Forbidden(_("Your role does not change packages."))
    done, failed = _each(caller, ids, {name: value})
    for text in failed:
        messages.error(request, text)
    facets.forget(caller.project_id)
    if done:
        words = {
            "enable": ngettext("%d package is active.", "%d packages are active.", done),
            "disable": ngettext("%d package is inactive.", "%d packages are inactive.", done),
            "publish": ngettext("%d package is public.", "%d packages are public.", done),
            "withdraw": ngettext("%d package is not public any more.", "%d packages are not public any more.", done),
        }
        messages.success(request, words[what] % done)
    return go(request, back)


def _each(caller: Caller, ids: list[str], change: dict[str, bool]) -> tuple[int, list[str]]:
    """Changes packages: (how many were, why others were not). They may require each other, in whatever order."""
    left = ids
    while True:
        failed = {}
        for id in left:
            try:
                service.change(caller, service.get_package(caller, id), **change)
            except ServiceError as error:
                failed[id] = translated(error.message)
        # What was in the way of one may have been another one of them.
        if not failed or len(failed) == len(left):
            return len(ids) - len(failed), list(failed.values())
        left = list(failed)
