"""What a person decides about an effect of which nobody knows whether it was done (`Outcome.open`)."""

from __future__ import annotations

import time
from typing import Any

from vetro.engine.worker.journal import Journal, NotOpen


def resolve(journal: Journal, key: str, *, answer: Any = None, redo: bool = False) -> None:
    """Decides about one effect of a task that ended ``needs_person``; then the task can be run on.

    It was done, and ``answer`` is what it would have answered (plain data); or ``redo``: it was not, it is to be done.
    Raises `NotOpen` for a key that waits for no decision, `NoSuchTask`.
    """
    ended = journal.progress().ended
    if ended is None or ended.state != "needs_person":
        raise NotOpen("the task waits for no decision", "only tasks that ended 'needs_person' do")
    if redo:
        journal.forget(key)
    else:
        journal.result(key, answer, None, time.time())
    journal.commit()
