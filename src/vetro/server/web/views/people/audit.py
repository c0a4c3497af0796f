"""The audit list: who changed what, newest first."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from vetro.server.accounts.models import Project
from vetro.server.accounts.policy import allows
from vetro.server.audit import search
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.audit.sentences import SENTENCES, sentence
from vetro.server.caller import Caller
from vetro.server.errors import NotFound
from vetro.server.language import translator
from vetro.server.quotas.service import project_named
from vetro.server.requests.streams import text_stream
from vetro.server.web import value_words
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import AT_ONCE

_DIGEST = re.compile("[0-9a-f]{32,}")
#: The words before the dot of actions.
SUBJECTS = (
    "environment", "session", "task", "template", "package", "category", "login", "token", "link", "user", "project",
    "membership", "image", "server", "notice", "audit", "worker", "installation", "database",
)  # fmt: skip


@page(rule="list_audit")
def listing(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Records of the project, or of others for administrators, with filters; ``before`` pages on."""
    given, wanted, may_all = _asked(request, caller)
    rows = search.records(wanted)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    found = list(rows[: AT_ONCE + 1])
    query = request.GET.copy()
    query.pop("before", None)
    names = dict(Project.objects.filter(id__in={row.project_id for row in found}).values_list("id", "name"))
    context: dict[str, Any] = {
        "rows": [_shown(row, names) for row in found[:AT_ONCE]], **given, "may_all": may_all,
        "everywhere": wanted.project_id != caller.project_id,
        "subjects": [(subject, _subject(subject)) for subject in SUBJECTS], "query": query.urlencode(),
        "older": found[AT_ONCE - 1].id if len(found) > AT_ONCE else None, "paged": bool(before),
        "filtered": any(given.values()), "tab": "audit",
    }  # fmt: skip
    return render(request, "people/audit.html", context)


@page(rule="list_audit")
def export(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """All records that the same filters let through, as a file of CSV, or of JSON with one record a line."""
    _given, wanted, _may_all = _asked(request, caller)
    kind: search.Format = "csv" if request.GET.get("format") == "csv" else "jsonl"
    record(caller, "audit.export", "", kind)
    said = translator()
    media = {"csv": "text/csv", "jsonl": "application/jsonl"}[kind]
    return text_stream(lambda: search.exported(wanted, kind, said), f"audit.{kind}", caller.project_id, media)


def _asked(request: HttpRequest, caller: Caller) -> tuple[dict[str, str], search.AuditFilter, bool]:
    """What was typed, what that looks for, and whether the caller may look at other projects. A project that there is
    not has no records."""
    names = ("what", "who", "target", "since", "until", "project", "all")
    given = {name: request.GET.get(name, "").strip()[:255] for name in names}
    may_all = allows(caller, "list_audit_all_projects")
    of: str | None = caller.project_id
    if may_all and given["project"]:
        try:
            of = project_named(given["project"])
        except NotFound:
            of = given["project"]
    elif may_all and given["all"]:
        of = None
    action = given["what"] if given["what"] in SENTENCES else ""
    action = f"{given['what']}." if given["what"] in SUBJECTS else action
    until = _day(given["until"])
    wanted = search.AuditFilter(
        project_id=of,
        action=action,
        who=given["who"],
        target=given["target"],
        since=_day(given["since"]),
        until=None if until is None else until + timedelta(days=1),
    )
    return given, wanted, may_all


def _shown(row: AuditRecord, names: dict[str, str]) -> dict[str, Any]:
    return {
        "at": row.at, "who": row.user_name or row.user_id or _("Vetro itself"), "action": row.action,
        "text": sentence(row.action, row.target_name or row.target_id, row.details),
        "address": row.address,
        "target": row.target_name or row.target_id, "target_id": row.target_id,
        "project": names.get(row.project_id, row.project_id),
        "details": [(name, words) for name, value in row.details.items() if (words := _plain(value))],
    }  # fmt: skip


def _plain(value: Any) -> str:
    """A value in words; ids and digests, which nobody reads, only as far as one tells them apart."""
    if isinstance(value, bool):
        return value_words.of_value(value)
    text = ", ".join(map(_plain, value)) if isinstance(value, list) else "" if value is None else str(value)
    return f"{text[:12]}…" if _DIGEST.fullmatch(text) else text


def _subject(name: str) -> str:
    return {
        "environment": _("Environments"), "session": _("Drafts"), "task": _("Deployments"), "template": _("Templates"),
        "package": _("Packages"), "category": _("Categories"), "login": _("Signing in"), "token": _("Tokens"),
        "link": _("Links for signing in"), "user": _("People"), "project": _("Projects"), "membership": _("Roles"),
        "image": _("Images"), "server": _("Commands on servers"), "notice": _("Notices"), "audit": _("Audit"),
        "worker": _("Workers"), "installation": _("Installation"), "database": _("Backups"),
    }[name]  # fmt: skip


def _day(text: str) -> datetime | None:
    """The beginning of a day in the viewer's zone; None for what is no date."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    # At the ends of the calendar there is no day after, or no other zone.
    return timezone.make_aware(datetime.combine(found, time())) if 1970 <= found.year < 9999 else None
