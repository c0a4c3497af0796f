"""Warm task processes with definitions: the next page of a wizard need not wait for its definition to be read again.

They belong to one person in one project, one definition and its packages, keep nothing between questions, and end
when they are idle.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.engine.host.answer import Handler
from vetro.engine.query.query import AskFailed, AskTimeout, Conversation
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.setup import config
from vetro.server.tasks.package_queries import converse, turn

#: Idle processes that are kept, how many seconds each, and questions after which one is replaced.
MOST, SECONDS, QUESTIONS = 6, 120.0, 500

_Key = tuple[int | str, ...]
_lock = threading.Lock()
#: The one that was used last stands last.
_idle: list[tuple[_Key, float, Conversation]] = []


def ask(
    caller: Caller,
    definition: str,
    question: Mapping[str, Any],
    *,
    packages: Sequence[Any] = (),
    handlers: Mapping[str, Handler] | None = None,
) -> Any:
    """The answer to a question about a definition, by its digest in the blob store (`vetro.forms.queries`).

    ``packages``: rows of the catalog, for static actions that the definition calls. Raises `AskFailed`, `Unavailable`,
    `BlobMissing`. Call it outside of transactions.
    """
    seconds: float = config()["ask.seconds"]
    key = (os.getpid(), caller.project_id, caller.user_id, definition, *sorted(row.digest for row in packages))
    with turn(caller):
        warm = _take(key)
        if warm is not None:
            try:
                return _answer(key, warm, question, seconds, handlers)
            except AskTimeout:
                raise
            except AskFailed:
                if warm.alive:
                    raise  # its time, or that of this question, was not over when it ended: once more with a new one
        fresh = converse(caller, "form", packages)
        try:
            text = blobs.get(definition).decode("utf-8", "replace")
            loaded = fresh.ask({"do": "load", "text": text, "origin": "UI/ui.yaml"}, timeout=seconds)
        except BaseException:
            fresh.close()
            raise
        if loaded.get("failed") is not None:
            fresh.close()
            return loaded
        return _answer(key, fresh, question, seconds, handlers)


def close() -> None:
    """Ends all idle processes of this process."""
    with _lock:
        gone, _idle[:] = list(_idle), []
    for key, _, child in gone:
        if key[0] == os.getpid():
            child.close()


atexit.register(close)


def _answer(
    key: _Key, child: Conversation, question: Mapping[str, Any], seconds: float, handlers: Mapping[str, Handler] | None
) -> Any:
    try:
        return child.ask(question, timeout=seconds, handlers=handlers)
    finally:
        _give_back(key, child)


def _take(key: _Key) -> Conversation | None:
    now = time.monotonic()
    with _lock:
        old = [item for item in _idle if item[0][0] != key[0] or now - item[1] > SECONDS]
        fitting = [item for item in _idle if item[0] == key and item not in old]
        for item in (*old, *fitting[-1:]):
            _idle.remove(item)
    for where, _, child in old:
        if where[0] == key[0]:
            child.close()
    return fitting[-1][2] if fitting else None


def _give_back(key: _Key, child: Conversation) -> None:
    if not child.alive or child.asked >= QUESTIONS:
        child.close()
        return
    with _lock:
        _idle.append((key, time.monotonic(), child))
        gone = _idle[:-MOST]
        del _idle[:-MOST]
    for _, _, other in gone:
        other.close()
