"""What the tasks tell apps above them, and ask them."""

from __future__ import annotations

from threading import Thread
from typing import Final

from vetro.engine.outcome import Outcome
from vetro.server.caller import Caller
from vetro.server.config.config import Config
from vetro.server.hooks import Hook
from vetro.server.tasks.models import Task

#: A task that leaves a new state of its environment has ended; in the transaction that ends it.
ended: Final[Hook[[Task, Outcome], None]] = Hook()
#: A task was ended of which nothing but its row can be written; in that transaction.
broken_off: Final[Hook[[Task], None]] = Hook()
#: What a task that leaves states was to do is to be done again: the new task. One app answers.
again: Final[Hook[[Caller, Task], Task]] = Hook()
#: It is time to drop what is too old: the thread that does it.
aged: Final[Hook[[Config], Thread]] = Hook()
