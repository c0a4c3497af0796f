"""The operator's first page: what is to be thought of, how it goes; and the settings of the service."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.config import display
from vetro.server.language import translated
from vetro.server.operations import checklist, queue
from vetro.server.setup import config
from vetro.server.tasks import drain
from vetro.server.web.page import page, render


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The checklist, numbers that matter, and a place for the findings, which take their time."""
    settings = config()
    workers, tasks = drain.workers(settings), queue.waiting(settings, most=0)
    steps = checklist.steps(settings)
    context: dict[str, Any] = {
        "tab": "overview",
        "steps": steps,
        "open": sum(not step.done for step in steps),
        "working": sum(worker.state == "working" for worker in workers),
        "workers": len(workers),
        "counts": tasks.counts,
    }
    return render(request, "operation/overview.html", context)


@page(rule="operate")
def settings(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Every setting with its value, where that comes from, and what it means; those that are no defaults on request."""
    words = request.GET.get("q", "").strip().lower()[:100]
    changed = request.GET.get("changed") == "1"
    rows = [
        {**row, "shown": row["value"] if isinstance(row["value"], str) else json.dumps(row["value"])}
        for row in display.shown(config())
        if words in f"{row['name']} {row['meaning']} {translated(row['meaning'])}".lower()
        and not (changed and row["source"] == "default")
    ]
    sections: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        sections.setdefault(row["name"].partition(".")[0], []).append(row)
    context = {"tab": "settings", "sections": list(sections.items()), "q": words, "changed": changed}
    return render(request, "operation/settings.html", {**context, "data": str(config().data), "line": _line()})


def _line() -> str:
    file = config().file
    return _("There is no file of settings.") if file is None else str(file)
