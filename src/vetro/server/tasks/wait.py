"""`wait`: until a task has ended. Woken by the worker on the same machine or by PostgreSQL, else by looking."""

from __future__ import annotations

import secrets
import time

from vetro.diagnostics import Text
from vetro.server.errors import NotFound
from vetro.server.setup import config
from vetro.server.tasks import notifications, wakeup
from vetro.server.tasks.models import Task

#: Seconds between two looks: at first, at most, and at most where the database tells of the end.
_FIRST, _MOST, _HEARING = 0.02, 0.25, 2.0


def wait(task_id: str, seconds: float) -> Task:
    """The task, when nothing happens any more, or it waits for a person, or after ``seconds``: look at its state.

    Call it outside of a transaction. Raises `NotFound`.
    """
    until = time.monotonic() + seconds
    name = f"{wakeup.WAITER}{task_id}-{secrets.token_hex(4)}"
    with wakeup.Inbox(wakeup.folder(config().data), name, notifications.ENDED, task_id) as inbox:
        pause = _FIRST
        while True:
            state = Task.objects.filter(id=task_id).values_list("state", flat=True).first()
            left = until - time.monotonic()
            if state is None or state in Task.FINAL or state == Task.NEEDS_PERSON or left <= 0:
                break
            inbox.wait(min(pause, left))
            pause = min(pause * 1.5, _HEARING if notifications.hearing() else _MOST)
    found = Task.objects.filter(id=task_id).first()
    if found is None:
        raise NotFound(Text("There is no task {task_id}.", task_id=task_id))
    return found


def tell_waiting(task_id: str) -> None:
    """Wakes those who wait for the end of a task. Never raises; call it after the commit."""
    try:
        wakeup.send(config().data / "run", f"{wakeup.WAITER}{task_id}-", task_id)
    except OSError:
        pass
