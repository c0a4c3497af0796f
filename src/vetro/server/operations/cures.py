"""Cures: what mends a finding of `vetro doctor` at once (`done`), or where that is done (`place`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vetro.diagnostics import Text
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config.config import Config, keep_from_others
from vetro.server.errors import NotFound
from vetro.server.operations import examination
from vetro.server.operations.database.repair import repair

#: Cures that are a matter of a person, and the page where it is done, below /app/.
PLACES: Final[Mapping[str, str]] = {
    "image": "packages/images/build",
    "backups": "operation/backups",
    "queue": "operation/queue",
    "decide": "operation/queue?state=needs_person",
    "workers": "operation/workers",
    "settings": "operation/settings",
    "sweep": "operation/disk",
}


def _private(config: Config) -> None:
    keep_from_others(config.data)


def _indexes(config: Config) -> None:
    repair()


#: Cures that can be done at once.
_DEEDS: Final[Mapping[str, Callable[[Config], None]]] = {"private": _private, "indexes": _indexes}
DEEDS: Final[frozenset[str]] = frozenset(_DEEDS)


def done(caller: Caller, config: Config, cure: str) -> None:
    """Does what mends a finding. Raises `Forbidden`, `NotFound` for what is no such cure, and what the deed raises."""
    enforce(caller, "operate")
    deed = _DEEDS.get(cure)
    if deed is None:
        raise NotFound(Text("There is no cure '{cure}' that could be done here.", cure=cure[:80]))
    deed(config)
    record(caller, "installation.mend", "", cure)
    examination.forget()
