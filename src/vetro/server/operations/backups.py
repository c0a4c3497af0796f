"""`made`: which backups there are of an installation, as its audit knows them."""

from __future__ import annotations

from datetime import datetime

from vetro.data_classes import dataclass
from vetro.diagnostics import OK, Diagnostic
from vetro.server.audit.models import AuditRecord
from vetro.server.config.config import Config
from vetro.server.operations.database.backup_file import ACTION
from vetro.server.operations.doctor import backups


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that 'vetro db backup' made. ``keys``: the keys are in it."""

    at: datetime
    bytes: int
    archives: int
    keys: bool


@dataclass(frozen=True, slots=True)
class Backups:
    """The newest backups first. ``well``: there is nothing to say against them; else ``finding`` says what."""

    well: bool
    finding: Diagnostic | None
    made: list[Backup]


def made(config: Config, most: int = 20) -> Backups:
    """What the audit has. Backups by other means are not known here."""
    rows = AuditRecord.objects.filter(action=ACTION).order_by("-id").values_list("at", "details")[:most]
    finding = next(iter(backups.examine(config)), None)
    found = [
        Backup(at, int(told.get("bytes") or 0), int(told.get("archives") or 0), bool(told.get("keys")))
        for at, told in rows
    ]
    return Backups(finding is None or finding.severity == OK, finding, found)
