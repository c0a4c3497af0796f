"""`examine`: the findings of an installation. What has to ask others does so at the same time, and within a bound."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Final

from vetro.diagnostics import ERROR, Diagnostic, Text
from vetro.server.config.config import Config
from vetro.server.operations.database import check
from vetro.server.operations.doctor import (
    address,
    backups,
    broker,
    cloud,
    folder,
    growth,
    keystone,
    storage,
    variables,
    workers,
)
from vetro.yaql.errors import VetroError

Part = Callable[[Config], Iterable[Diagnostic]]
#: What is on this machine, in the order in which it should be mended.
_HERE: Final[tuple[tuple[str, Part], ...]] = (
    ("settings", variables.examine),
    ("folder", folder.examine),
    ("address", address.examine),
)
#: What needs the database.
_ROWS: Final[tuple[tuple[str, Part], ...]] = (
    ("work", workers.examine),
    ("growth", growth.examine),
    ("backup", backups.examine),
)
#: What is elsewhere, and may take its time.
_ELSEWHERE: Final[tuple[tuple[str, Part], ...]] = (
    ("storage", storage.examine),
    ("cloud", cloud.examine),
    ("broker", broker.examine),
    ("keystone", keystone.examine),
)
#: Seconds for everything that is elsewhere.
PATIENCE = 30.0


def examine(config: Config, *, patience: float = PATIENCE) -> list[Diagnostic]:
    """All findings. Changes nothing but a probe that is written to the store of archives and removed again.

    ``patience``: seconds for what is elsewhere; what has not answered by then is an error.
    """
    os.environ.setdefault("PGCONNECT_TIMEOUT", "10")
    asked = [_Asked(topic, part, config) for topic, part in _ELSEWHERE]
    found = [finding for topic, part in _HERE for finding in _tried(topic, part, config)]
    database = check.examine(config)
    found += database
    if not any(finding.severity == ERROR and finding.code in ("connection", "schema") for finding in database):
        found += [finding for topic, part in _ROWS for finding in _tried(topic, part, config)]
    clock = threading.Event()
    timer = threading.Timer(patience, clock.set)
    timer.daemon = True
    timer.start()
    try:
        for one in asked:
            found += one.answer(clock, patience)
    finally:
        timer.cancel()
    return found


class _Asked:
    """A part that runs in a thread of its own."""

    def __init__(self, topic: str, part: Part, config: Config) -> None:
        self._topic = topic
        self._found: list[Diagnostic] | None = None
        self._thread = threading.Thread(target=self._run, args=(part, config), name=f"doctor-{topic}", daemon=True)
        self._thread.start()

    def _run(self, part: Part, config: Config) -> None:
        self._found = _tried(self._topic, part, config)

    def answer(self, over: threading.Event, patience: float) -> list[Diagnostic]:
        """The findings; that there are none in time is one."""
        while self._thread.is_alive() and not over.is_set():
            self._thread.join(0.1)
        if self._found is None:
            text = Text("no answer within {seconds} s", seconds=f"{patience:.0f}")
            return [
                Diagnostic(self._topic, ERROR, text, Text("see whether this machine reaches it: name, port, firewall"))
            ]
        return self._found


def _tried(topic: str, part: Part, config: Config) -> list[Diagnostic]:
    """A part that fails is a finding, too; libraries of others raise what they like."""
    found: list[Diagnostic] = []
    try:
        found.extend(part(config))
    except VetroError as error:
        found.append(Diagnostic(topic, ERROR, error.message, error.hint))
    except Exception as error:
        said = str(error).splitlines()[0][:300] if str(error) else Text("no reason given")
        text = Text("{name}: {said}", name=type(error).__name__, said=said)
        found.append(Diagnostic(topic, ERROR, text, Text("mend what it says, then ask again")))
    return found
