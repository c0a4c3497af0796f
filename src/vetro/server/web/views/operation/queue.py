"""The queue: tasks of all projects that have not ended, and what each waits for."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from vetro.server.caller import Caller
from vetro.server.operations import queue
from vetro.server.setup import config
from vetro.server.web.page import page, render
from vetro.server.web.views.environments.listing import kind_of

#: Tasks of a page: of each is asked what it waits for.
AT_ONCE = 25


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The oldest first; the table alone where the page asks for it again."""
    state = request.GET.get("state", "")
    state = state if state in queue.STATES else ""
    given = request.GET.get("page", "")
    number = max(1, int(given)) if given.isascii() and given.isdigit() and len(given) < 9 else 1
    found = queue.waiting(config(), state=state, skip=(number - 1) * AT_ONCE, most=AT_ONCE)
    total = found.counts[state] if state else sum(found.counts.values())
    context = {
        "tab": "queue", "state": state, "counts": found.counts, "total": sum(found.counts.values()), "page": number,
        "pages": max(number, -(-total // AT_ONCE)), "query": f"state={state}" if state else "",
        "rows": [(entry, kind_of(entry.kind, {"method": entry.method})) for entry in found.entries],
    }  # fmt: skip
    part = request.headers.get("HX-Target") == "live"
    return render(request, "operation/queue_part.html" if part else "operation/queue.html", context)
