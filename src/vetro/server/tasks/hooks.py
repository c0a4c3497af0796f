"""What the tasks tell apps above them, and ask them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol

from vetro.data_classes import dataclass
from vetro.engine.outcome import Outcome
from vetro.server.caller import Caller
from vetro.server.config.config import Config
from vetro.server.hooks import Hook, RowHook
from vetro.server.tasks.member import Member
from vetro.server.tasks.models import Task

if TYPE_CHECKING:  # most processes of the service start no tasks
    from vetro.engine.task.launcher import Launcher


class Companion(Protocol):
    """What works beside the tasks of a worker until the worker ends."""

    def stop(self) -> None:
        """Ends it."""
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True)
class Work:
    """A task whose work an app does itself, without a run of the engine."""

    config: Config
    task: Task
    #: Why it is to end now; None: it may go on. Asked often.
    stopped: Callable[[], str | None]


#: Does the work of a task of a kind in `models.Task.BATCHES`. One app does.
works: Final[Hook[[Work], Outcome]] = Hook()
#: A task that worked on an environment has ended; in the transaction that ends it.
ended: Final[RowHook[[Task, Outcome], None]] = RowHook("ended")
#: A task has ended, however it did, or waits for a person; in the transaction that says so, before `ended`.
changed: Final[RowHook[[Task], None]] = RowHook("changed")
#: A task was ended of which nothing but its row can be written; in that transaction.
broken_off: Final[Hook[[Task], None]] = Hook()
#: What a task that worked on an environment was to do is to be done again: the new task. One app answers.
again: Final[Hook[[Caller, Task], Task]] = Hook()
#: A worker works (its settings, who it is, what makes task processes): what works beside it.
beside: Final[Hook[[Config, Member, Launcher], Companion]] = Hook()
#: It is time to drop what is too old: the thread that does it.
aged: Final[Hook[[Config], Thread]] = Hook()
