"""`clean`: what the workers drop in their rounds, dropped now, since somebody needs the room."""

from __future__ import annotations

from vetro.diagnostics import Text
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import garbage
from vetro.server.config.config import Config
from vetro.server.errors import Conflict
from vetro.server.retention import sweep


def clean(caller: Caller, config: Config) -> dict[str, int]:
    """Drops what is too old, and archives that nothing names; how many of each: those of `sweep.sweep`, and archives.

    Cut off, it is begun again. Raises `Forbidden`, and `Conflict` while the clock is not believed.
    """
    enforce(caller, "operate")
    if sweep.doubtful():
        raise Conflict(
            Text("The clock of the database leapt by more than a day since anything was dropped."),
            hint=Text("see whether it is right; a day later it is believed"),
        )
    removed = {**sweep.sweep(config), "archives": garbage.collect()}
    record(caller, "installation.clean", "", "", **{name: count for name, count in removed.items() if count})
    return removed
