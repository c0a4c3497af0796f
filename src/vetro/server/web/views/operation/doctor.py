"""What the doctor finds, as rows with a button where something can be done at once, or a way to where it is done."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import OK, Diagnostic
from vetro.server.caller import Caller
from vetro.server.errors import Unavailable
from vetro.server.operations import cures, examination
from vetro.server.setup import config
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import done

_HERE = "/app/operation/doctor"
#: What is wrong stands first.
_ORDER = ("error", "warning", "note", "ok")


@page(rule="operate")
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The findings; a part of the overview where its script asks. ``anew``: examined now."""
    part = request.headers.get("HX-Target") == "findings"
    context: dict[str, Any] = {"tab": "doctor"}
    try:
        found = examination.findings(config(), anew=request.GET.get("anew") == "1")
    except Unavailable as error:
        template = "operation/findings.html" if part else "operation/doctor.html"
        return render(request, template, {**context, "problem": error}, 200 if part else error.status)
    rows = sorted((_row(one) for one in found.findings), key=lambda row: _ORDER.index(row["level"]))
    context |= {
        "rows": [row for row in rows if row["level"] != OK],
        "well": [row for row in rows if row["level"] == OK],
        "at": found.at,
        "part": part,
    }
    return render(request, "operation/findings.html" if part else "operation/doctor.html", context)


@page("POST", rule="operate")
def mend(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Does what mends a finding."""
    cure = request.POST.get("cure", "")
    return done(request, _HERE, _("That is mended."), lambda: cures.done(caller, config(), cure))


def _row(found: Diagnostic) -> dict[str, Any]:
    deeds = {"private": _("Keep it from others"), "indexes": _("Make it now")}
    places = {
        "image": _("Build the image"), "backups": _("See the backups"), "queue": _("See the queue"),
        "decide": _("See what is to be decided"), "workers": _("See the workers"), "settings": _("See the settings"),
        "sweep": _("See the disk"),
    }  # fmt: skip
    return {
        "topic": found.code, "level": found.severity, "text": found.message, "hint": found.hint or "",
        "cure": found.cure, "deed": deeds.get(found.cure, ""), "words": places.get(found.cure, ""),
        "place": f"/app/{cures.PLACES[found.cure]}" if found.cure in cures.PLACES else "",
    }  # fmt: skip
