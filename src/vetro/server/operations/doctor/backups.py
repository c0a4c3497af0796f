"""How old the newest backup is that `vetro db backup` made."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from vetro.diagnostics import OK, WARNING, Diagnostic, Text
from vetro.server.accounts.models import User
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.operations.database.backup_file import ACTION

#: How old it may be before it is mentioned.
_OLD = timedelta(days=7)
_OTHERWISE = Text("'vetro db backup FILE'; never mind if you save the database and the archives by other means")


def examine(config: Config) -> Iterator[Diagnostic]:
    """One finding: the audit knows."""
    made = AuditRecord.objects.filter(action=ACTION).order_by("-id").values_list("at", flat=True).first()
    if made is None:
        if Environment.objects.exists() or Package.objects.exists() or User.objects.count() > 1:
            yield Diagnostic(
                "backup",
                WARNING,
                Text("'vetro db backup' has never saved this installation"),
                _OTHERWISE,
                cure="backups",
            )
        return
    age = datetime.now(UTC) - made
    text = Text("the newest backup is {hours} hours old", hours=max(0, int(age.total_seconds() // 3600)))
    if age.days > 1:
        text = Text("the newest backup is {days} days old", days=age.days)
    if age > _OLD:
        yield Diagnostic("backup", WARNING, text, _OTHERWISE, cure="backups")
    else:
        yield Diagnostic("backup", OK, text)
