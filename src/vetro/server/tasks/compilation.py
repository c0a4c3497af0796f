"""Workers compile the packages of their tasks once, where this machine has no compiled code of them yet."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection

from django.db import Error, connections

from vetro.server.catalog.compilation import compile_missing
from vetro.server.errors import TooMany, Unavailable
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")
#: Digests that are remembered: the oldest ones are looked up again.
_MOST = 10_000


class Compilation:
    """Which packages tasks of this worker have used, and whether their code is here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: dict[str, None] = {}
        self._known: dict[str, None] = {}

    def used(self, digests: Collection[str]) -> None:
        """A task uses these packages."""
        with self._lock:
            self._new.update(dict.fromkeys(digest for digest in digests if digest not in self._known))

    def begin(self) -> threading.Thread | None:
        """A thread that compiles what is missing of what is new; None where nothing is."""
        with self._lock:
            digests, self._new = list(self._new), {}
            self._known.update(dict.fromkeys(digests))
            while len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        if not digests:
            return None
        thread = threading.Thread(target=self._compile, args=(digests,), name="compile", daemon=True)
        thread.start()
        return thread

    def _compile(self, digests: Collection[str]) -> None:
        try:
            for digest in digests:
                try:
                    if compile_missing([digest]):
                        _log.info("package %s… is compiled", digest[:12])
                except (Error, OSError, Unavailable, TooMany) as error:  # the next task that uses it asks again
                    with self._lock:
                        self._known.pop(digest, None)
                    _log.warning("package %s… could not be compiled: %s", digest[:12], error)
                except VetroError as error:
                    _log.warning("package %s… cannot be compiled: %s", digest[:12], error.message)
        finally:
            connections.close_all()
