"""What the views about people share: one change, told on the page that it was made on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from vetro.server.accounts import service as accounts
from vetro.server.caller import Caller
from vetro.server.errors import ServiceError
from vetro.server.language import translated
from vetro.server.setup import config
from vetro.server.web.page import go

#: Rows of a page.
AT_ONCE = 50
Row = TypeVar("Row")


def done(request: HttpRequest, target: str, text: str, act: Callable[[], Any]) -> HttpResponse:
    """Does it and leads to ``target``, where ``text`` or what was in the way is told."""
    try:
        act()
    except ServiceError as error:
        messages.error(request, f"{translated(error.message)} {translated(error.hint)}".strip())
    else:
        messages.success(request, text)
    return go(request, target)


def paged(rows: list[Row], number: str | None) -> dict[str, Any]:
    """``rows`` of the page that is asked for, ``page`` and ``pages``."""
    pages = max(1, -(-len(rows) // AT_ONCE))
    wanted = int(number) if number and number.isascii() and number.isdigit() and len(number) < 9 else 1
    page = max(1, min(wanted, pages))
    return {"rows": rows[(page - 1) * AT_ONCE : page * AT_ONCE], "page": page, "pages": pages}


def address_of(request: HttpRequest, path: str) -> str:
    """The whole address of a page, for people elsewhere."""
    public = str(config()["server.public_url"]).rstrip("/")
    return public + path if public else request.build_absolute_uri(path)


def project_names(caller: Caller) -> list[str]:
    """Names of all projects that are open."""
    return [row["name"] for row in accounts.list_projects(caller) if row["enabled"]]


def known_roles() -> list[str]:
    """Roles to choose from: those that the default rules know, and the administrators' where it has another name."""
    return list(dict.fromkeys([*accounts.ROLES, str(config()["accounts.admin_role"])]))
