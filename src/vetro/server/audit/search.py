"""`records`: the audit records that somebody looks for; `exported`: all of them, as lines of CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, Literal

from django.db.models import Q, QuerySet

from vetro.data_classes import dataclass
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.sentences import sentence
from vetro.server.errors import Unavailable
from vetro.server.requests.streams import stopping

#: How many are read at once while they are exported.
_AT_ONCE: Final = 500
#: Columns of an export.
COLUMNS: Final = (
    "id", "at", "project_id", "user_id", "user_name", "action", "text", "target_id", "target_name", "address",
    "details",
)  # fmt: skip
Format = Literal["csv", "jsonl"]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What is looked for. Empty texts and None: whatever it is."""

    #: None: all projects.
    project_id: str | None
    #: Like ``environment.deploy``; with a dot at its end all that begin so.
    action: str = ""
    #: Id or name of who did it.
    who: str = ""
    #: Id or name of what was changed.
    target: str = ""
    since: datetime | None = None
    #: Not itself.
    until: datetime | None = None


def records(wanted: AuditFilter) -> QuerySet[AuditRecord]:
    """The records, the newest first."""
    rows = AuditRecord.objects.order_by("-id")
    if wanted.project_id is not None:
        rows = rows.filter(project_id=wanted.project_id)
    if wanted.action.endswith("."):
        rows = rows.filter(action__startswith=wanted.action)
    elif wanted.action:
        rows = rows.filter(action=wanted.action)
    if wanted.who:
        rows = rows.filter(Q(user_name=wanted.who) | Q(user_id=wanted.who))
    if wanted.target:
        rows = rows.filter(Q(target_id=wanted.target) | Q(target_name=wanted.target))
    if wanted.since is not None:
        rows = rows.filter(at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(at__lt=wanted.until)
    return rows


def exported(wanted: AuditFilter, kind: Format, said: Callable[[str], str]) -> Iterator[str]:
    """The records as text, read as they are sent: memory does not depend on how many there are.

    ``said`` translates the sentence of a record. In CSV what a spreadsheet would take for a formula has an apostrophe
    in front. Raises `Unavailable` when the service ends meanwhile: what was cut off must not look whole.
    """
    if kind == "csv":
        yield _line(COLUMNS)
    last: int | None = None
    while True:
        rows = records(wanted)
        found = list((rows if last is None else rows.filter(id__lt=last))[:_AT_ONCE])
        for row in found:
            told = as_json(row)
            told["at"], told["text"] = row.at.isoformat(), said(told["text"])
            if kind == "jsonl":
                yield json.dumps(told, ensure_ascii=False) + "\n"
            else:
                told["details"] = json.dumps(told["details"], ensure_ascii=False) if told["details"] else ""
                yield _line([_harmless(str(told[name])) for name in COLUMNS])
        if len(found) < _AT_ONCE:
            return
        last = found[-1].id
        if stopping():
            raise Unavailable("The service ends.")


def as_json(row: AuditRecord) -> dict[str, Any]:
    """A record as plain data, `COLUMNS`; ``text`` says it in words."""
    found = {name: getattr(row, name) for name in COLUMNS if name != "text"}
    return {**found, "text": sentence(row.action, row.target_name or row.target_id, row.details)}


def _line(values: Any) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(values)
    return buffer.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
