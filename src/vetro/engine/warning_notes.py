"""`WarningNotes`: what packages should mend, found while a task loads and runs them, as log lines of the task.

Sent as effects of kind ``log`` with logger ``packages`` and level ``warning``, and besides ``text`` with ``package``
(name and version), ``file`` (inside of the package) and ``line``, null where they are not known. Their keys are apart
from those of the run, ``warning/1`` and so on: a run and its repetition find the same things in the same order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from vetro.engine.task.pipe_effects import PipeEffects
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.errors import Cancelled

LOGGER = "packages"
#: These tell of the machine and not of the package: a repetition of the run need not find them again.
_OURS = frozenset({"vetro.packages.cache"})
#: Warnings sent at most: what comes after them is more of the same.
MOST = 100


class WarningNotes(logging.Handler):
    """Sends them while it is entered; `loaded` says which packages there are, and sends what their manifests have."""

    def __init__(self, effects: PipeEffects) -> None:
        super().__init__(logging.WARNING)
        self._effects = effects
        self._packages: list[Any] = []
        self._count = 0

    def __enter__(self) -> WarningNotes:
        logging.getLogger("vetro").addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("vetro").removeHandler(self)

    def loaded(self, packages: Iterable[Any]) -> None:
        """The packages of the task."""
        self._packages = list(packages)
        for package in self._packages:
            for problem in package.warnings:
                self._send(problem.message + (f" ({problem.hint})" if problem.hint else ""), problem.place)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`: something that the engine says while it reads packages and models."""
        if record.name in _OURS:
            return
        given = record.args if isinstance(record.args, tuple) else ()
        places = [place for place in (getattr(item, "position", None) for item in given) if isinstance(place, Position)]
        self._send(record.getMessage(), places[0] if places else None)

    def _send(self, message: str, place: Position | None) -> None:
        if self._count >= MOST:
            return
        self._count += 1
        package, file = self._home(place)
        where = "" if place is None else f"{file}:{place.line}: "
        args = {
            "logger": LOGGER,
            "level": "warning",
            "text": (f"{package}: " if package else "") + where + message,
            "package": package,
            "file": file,
            "line": None if place is None else place.line,
        }
        try:
            self._effects.begin(f"warning/{self._count}", "log", args)
        except Cancelled:  # nobody is told of anything any more
            pass

    def _home(self, place: Position | None) -> tuple[str | None, str | None]:
        """The package that a place is in, and the file inside of it."""
        if place is None:
            return None, None
        for package in self._packages:
            root = str(package.location) + os.sep
            if place.file.startswith(root):
                return f"{package.name} {package.version}", place.file.removeprefix(root)
        return None, place.file
