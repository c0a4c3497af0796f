"""Audit records: who changed what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpRequest
from ninja import Query, Schema

from vetro.server.accounts.policy import enforce
from vetro.server.api.paging import aware, page, place
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Page
from vetro.server.audit.models import AuditRecord

routes = Routes("audit")
_FIELDS = (
    "id", "at", "project_id", "user_id", "user_name", "action", "target_id", "target_name", "address", "details",
)  # fmt: skip


class Record(Schema):
    """One write."""

    id: int
    at: datetime
    project_id: str
    user_id: str
    user_name: str
    action: str
    target_id: str
    target_name: str
    address: str
    details: dict[str, Any]


@routes.add("GET", "/audit", "listAudit", "list_audit", Page[Record])
def list_audit(
    request: HttpRequest,
    target: Annotated[str | None, Query(max_length=64, description="Id of what was changed.")] = None,
    user: Annotated[str | None, Query(max_length=255, description="Id or name of who changed it.")] = None,
    action: Annotated[
        str | None, Query(max_length=64, description="Like `environment.deploy`; or `environment.` for all.")
    ] = None,
    since: Annotated[datetime | None, Query()] = None,
    until: Annotated[datetime | None, Query()] = None,
    all_projects: Annotated[bool, Query(description="Of all projects (administrators).")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The audit records of the project, newest first."""
    caller = who(request)
    rows = AuditRecord.objects.filter(project_id=caller.project_id)
    if all_projects:
        enforce(caller, "list_audit_all_projects")
        rows = AuditRecord.objects.all()
    if target is not None:
        rows = rows.filter(target_id=target)
    if user is not None:
        rows = rows.filter(Q(user_id=user) | Q(user_name=user))
    if action is not None:
        rows = rows.filter(action__startswith=action) if action.endswith(".") else rows.filter(action=action)
    if since is not None:
        rows = rows.filter(at__gte=aware(since))
    if until is not None:
        rows = rows.filter(at__lt=aware(until))
    after = place(cursor, int)
    if after is not None:
        rows = rows.filter(id__lt=after[0])
    found = list(rows.order_by("-id").values(*_FIELDS)[: limit + 1])
    return page(found[:limit], None, cursor_of(found[limit - 1]["id"]) if len(found) > limit else None)
