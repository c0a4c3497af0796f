"""What the installation takes on disks, and its backups."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.operations import backups, disk
from vetro.server.retention import by_hand
from vetro.server.setup import config
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import done

_HERE = "/app/operation/disk"


@page(rule="operate")
def disk_used(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What is used and free, and what can be removed."""
    found = disk.used(config(), anew=request.GET.get("anew") == "1")
    titles = {
        "database": _("Database"), "archives": _("Archives of packages"), "cloud": _("Servers and volumes here"),
        "images": _("Images for servers"), "cache": _("Caches, which are made again"),
    }  # fmt: skip
    top = max([place.bytes or 0 for place in found.places]) or 1
    rows = [(place, titles[place.name], int(100 * (place.bytes or 0) / top)) for place in found.places]
    settings = config()
    days = {name: settings[f"retention.{name}"] for name in ("journal_days", "audit_days", "states")}
    return render(request, "operation/disk.html", {"tab": "disk", "disk": found, "rows": rows, "days": days})


@page("POST", rule="operate")
def clean(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Drops now what the workers would drop in their next round."""

    def act() -> None:
        by_hand.clean(caller, config())
        disk.used(config(), anew=True)

    return done(request, _HERE, _("What was too old is dropped."), act)


@page(rule="operate")
def backups_made(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The newest backups, and how one is made."""
    settings = config()
    context = {"tab": "backups", "backups": backups.made(settings), "data": settings.data}
    return render(request, "operation/backups.html", {**context, "keys": settings.path("secrets.key_file")})
