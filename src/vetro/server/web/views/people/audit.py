"""The audit list: who changed what, newest first."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from vetro.server.accounts.models import Project
from vetro.server.accounts.policy import allows
from vetro.server.audit.models import AuditRecord
from vetro.server.caller import Caller
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import AT_ONCE

_DIGEST = re.compile("[0-9a-f]{32,}")
#: The words before the dot of actions.
SUBJECTS = (
    "environment", "session", "task", "template", "package", "category", "login", "token", "link", "user", "project",
    "membership", "image",
)  # fmt: skip


@page(rule="list_audit")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Records of the project, or of all of them for administrators, with filters; ``before`` pages on."""
    given = {
        name: request.GET.get(name, "").strip()[:255] for name in ("what", "who", "target", "since", "until", "all")
    }
    may_all = allows(caller, "list_audit_all_projects")
    everywhere = bool(given["all"]) and may_all
    rows = AuditRecord.objects.all() if everywhere else AuditRecord.objects.filter(project_id=caller.project_id)
    if given["what"] in SUBJECTS:
        rows = rows.filter(action__startswith=given["what"] + ".")
    if given["who"]:
        rows = rows.filter(Q(user_name=given["who"]) | Q(user_id=given["who"]))
    if given["target"]:
        rows = rows.filter(Q(target_id=given["target"]) | Q(target_name=given["target"]))
    since, until = _day(given["since"]), _day(given["until"])
    if since is not None:
        rows = rows.filter(at__gte=since)
    if until is not None:
        rows = rows.filter(at__lt=until + timedelta(days=1))
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    found = list(rows.order_by("-id")[: AT_ONCE + 1])
    query = request.GET.copy()
    query.pop("before", None)
    names = dict(Project.objects.filter(id__in={row.project_id for row in found}).values_list("id", "name"))
    context: dict[str, Any] = {
        "rows": [_shown(row, names) for row in found[:AT_ONCE]], **given, "everywhere": everywhere, "may_all": may_all,
        "subjects": [(subject, _subject(subject)) for subject in SUBJECTS], "query": query.urlencode(),
        "older": found[AT_ONCE - 1].id if len(found) > AT_ONCE else None, "paged": bool(before),
        "filtered": any(given.values()), "tab": "audit",
    }  # fmt: skip
    return render(request, "people/audit.html", context)


def _shown(row: AuditRecord, names: dict[str, str]) -> dict[str, Any]:
    return {
        "at": row.at, "who": row.user_name or row.user_id or _("Vetro itself"), "action": row.action,
        "address": row.address,
        "target": row.target_name or row.target_id, "target_id": row.target_id,
        "project": names.get(row.project_id, row.project_id),
        "details": [(name, _plain(value)) for name, value in row.details.items()],
    }  # fmt: skip


def _plain(value: Any) -> str:
    """A value in words; ids and digests, which nobody reads, only as far as one tells them apart."""
    text = ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)
    return f"{text[:12]}…" if _DIGEST.fullmatch(text) else text


def _subject(name: str) -> str:
    return {
        "environment": _("Environments"), "session": _("Drafts"), "task": _("Deployments"), "template": _("Templates"),
        "package": _("Packages"), "category": _("Categories"), "login": _("Signing in"), "token": _("Tokens"),
        "link": _("Links for signing in"), "user": _("People"), "project": _("Projects"), "membership": _("Roles"),
        "image": _("Images"),
    }[name]  # fmt: skip


def _day(text: str) -> datetime | None:
    """The beginning of a day in the viewer's zone; None for what is no date."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    # At the ends of the calendar there is no day after, or no other zone.
    return timezone.make_aware(datetime.combine(found, time())) if 1970 <= found.year < 9999 else None
