"""Categories: listed, made, renamed, removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import categories, category_names
from vetro.server.errors import ServiceError
from vetro.server.language import translated
from vetro.server.web.page import go, page, render

_HERE = "/app/packages/categories"


@page(rule="get_category")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All categories with how many packages are in each."""
    context = {
        "rows": categories.listed(caller),
        "may_add": allows(caller, "add_category"),
        "may_delete": allows(caller, "delete_category"),
    }
    return render(request, "packages/categories.html", context)


@page("POST", rule="add_category")
def add(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new one."""
    name = request.POST.get("name", "").strip()
    return _done(request, _("The category %s is there.") % name, lambda: categories.create(caller, name))


@page("POST", rule="add_category")
def rename(request: HttpRequest, caller: Caller, category: str) -> HttpResponse:
    """Another name; packages stay in it."""
    name = request.POST.get("name", "").strip()
    return _done(request, _("It is called %s now.") % name, lambda: category_names.rename(caller, category, name))


@page("POST", rule="delete_category")
def delete(request: HttpRequest, caller: Caller, category: str) -> HttpResponse:
    """Removes one that no package is in."""
    return _done(request, _("The category is deleted."), lambda: categories.delete(caller, category))


def _done(request: HttpRequest, text: str, act: Callable[[], Any]) -> HttpResponse:
    """What went wrong is told on the page where it was tried."""
    try:
        act()
    except ServiceError as error:
        messages.error(request, translated(error.message))
    else:
        messages.success(request, text)
    return go(request, _HERE)
