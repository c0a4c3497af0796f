"""What procedures are made of: facts come in, commands go out. Nothing here knows of databases or clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from vetro.data_classes import dataclass
from vetro.engine.watching.states import State

#: What is asked of a procedure: that it goes back, that what is now stays, that it ends since its environment does.
Intervention = Literal["", "undo", "keep", "abandon"]
#: Kinds of tasks that procedures need.
TaskKind = Literal["snapshot", "deploy", "restore", "drop"]

#: States of tasks after which nothing happens any more, and that of one that cannot be found.
DONE, GONE = "done", "gone"
FINAL = frozenset({DONE, "failed", "cancelled", "killed", "diverged", GONE})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when a procedure is looked at."""

    #: State of each of its tasks, by the key with which it was enqueued. A deployment that reported errors has failed.
    tasks: Mapping[str, str] = field(default_factory=dict)
    #: How the components of its environment are; of components that are not in it nobody says anything. None: nobody
    #: has looked now.
    health: Mapping[str, State] | None = field(default_factory=dict)
    #: What people call these components, where that is known.
    names: Mapping[str, str] = field(default_factory=dict)
    asked: Intervention = ""
    #: Of the next part of a chain: '' where its draft is there, else why it cannot be made. None: nobody tried now.
    draft: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueue:
    """A task is to be begun. Its key is used once in a procedure, so whoever sees it twice begins nothing new."""

    key: str
    kind: TaskKind


@dataclass(frozen=True, slots=True)
class Cancel:
    """The task with this key is to end."""

    key: str


@dataclass(frozen=True, slots=True)
class Wake:
    """The procedure is to be looked at again at this time (seconds since 1970), if nothing happens before."""

    at: float


Command = Enqueue | Cancel | Wake
