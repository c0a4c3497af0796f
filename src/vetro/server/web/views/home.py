"""The first page: the catalog."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseRedirect

from vetro.server.web.page import page


@page()
def home(request: HttpRequest, caller: Any) -> HttpResponseRedirect:
    """Leads to the catalog."""
    return HttpResponseRedirect("/app/catalog/")
