"""Audit records: who changed what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.server.accounts.policy import enforce
from vetro.server.api.paging import aware, page, place
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Page
from vetro.server.audit import search
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.language import translated, translator
from vetro.server.quotas.service import project_named
from vetro.server.requests.streams import text_stream

routes = Routes("audit")
_Target = Annotated[str | None, Query(max_length=255, description="Id or name of what was changed.")]
_User = Annotated[str | None, Query(max_length=255, description="Id or name of who changed it.")]
_Action = Annotated[
    str | None, Query(max_length=64, description="Like `environment.deploy`; or `environment.` for all.")
]
_Project = Annotated[str | None, Query(max_length=255, description="Id or name of a project (administrators).")]
_EXPORT = {
    "responses": {
        200: {"content": {kind: {"schema": {"type": "string"}} for kind in ("text/csv", "application/jsonl")}}
    }
}


class Record(Schema):
    """One write."""

    id: int
    at: datetime
    project_id: str
    user_id: str
    user_name: str
    action: str
    text: str = Field(description="The same in words; whoever did it stands before.")
    target_id: str
    target_name: str
    address: str
    details: dict[str, Any]


@routes.add("GET", "/audit", "listAudit", "list_audit", Page[Record])
def list_audit(
    request: HttpRequest,
    target: _Target = None,
    user: _User = None,
    action: _Action = None,
    since: Annotated[datetime | None, Query()] = None,
    until: Annotated[datetime | None, Query()] = None,
    project: _Project = None,
    all_projects: Annotated[bool, Query(description="Of all projects (administrators).")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The audit records of the project, newest first."""
    wanted = _wanted(who(request), action, user, target, since, until, project, all_projects)
    rows = search.records(wanted)
    after = place(cursor, int)
    if after is not None:
        rows = rows.filter(id__lt=after[0])
    found = list(rows[: limit + 1])
    items = [{**search.as_json(row), "text": translated(search.as_json(row)["text"])} for row in found[:limit]]
    return page(items, None, cursor_of(found[limit - 1].id) if len(found) > limit else None)


@routes.add("GET", "/audit/export", "exportAudit", "list_audit", extra=_EXPORT)
def export_audit(
    request: HttpRequest,
    format: Annotated[search.Format, Query(description="`csv`, or `jsonl`: one object a line.")] = "jsonl",
    target: _Target = None,
    user: _User = None,
    action: _Action = None,
    since: Annotated[datetime | None, Query()] = None,
    until: Annotated[datetime | None, Query()] = None,
    project: _Project = None,
    all_projects: Annotated[bool, Query(description="Of all projects (administrators).")] = False,
) -> Any:
    """All audit records that fit, newest first, as they are read. That somebody exported them is recorded, too."""
    caller = who(request)
    wanted = _wanted(caller, action, user, target, since, until, project, all_projects)
    record(caller, "audit.export", "", format)
    said = translator()
    kind = {"csv": "text/csv", "jsonl": "application/jsonl"}[format]
    return text_stream(lambda: search.exported(wanted, format, said), f"audit.{format}", caller.project_id, kind)


def _wanted(
    caller: Caller,
    action: str | None,
    user: str | None,
    target: str | None,
    since: datetime | None,
    until: datetime | None,
    project: str | None,
    everywhere: bool,
) -> search.AuditFilter:
    """Raises `Forbidden` for other projects, `NotFound` for one that there is not."""
    of: str | None = caller.project_id
    if everywhere or project is not None:
        enforce(caller, "list_audit_all_projects")
        of = None if project is None else project_named(project)
    moments = [None if at is None else aware(at) for at in (since, until)]
    return search.AuditFilter(of, action or "", user or "", target or "", *moments)
