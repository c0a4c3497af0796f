"""The processes behind the walls of tasks that this process of the service starts: one zygote for questions of all
kinds, and the folder of compiled code that they read.
"""

from __future__ import annotations

import atexit
import os
import threading

from vetro.engine.task.launcher import Launcher
from vetro.packages.cache import DiskCache
from vetro.server.config.config import Config
from vetro.server.setup import config

#: What can be asked there, by name: definitions of forms; archives.
ANSWERING = ("form=vetro.forms.queries:answerer", "examine=vetro.server.sandboxed_answers:answerer")

#: What is asked where many environments are planned at once; how far these processes stand back.
PLANNING = ("plans=vetro.engine.planning.batch:answering",)
_NICE = 10

_lock = threading.Lock()
#: The folder of compiled code, where it is not that of the installation.
_compiled: str | None = None
#: By process: what a forked process inherits is not its own. Each with the folder that was chosen for it, and whether
#: it answers questions.
_launchers: dict[int, tuple[str | None, bool, Launcher]] = {}
_planners: dict[int, Launcher] = {}


def compiled_folder(config: Config) -> str:
    """The folder of the compile cache: imports write it, task processes read it. Made when it is missing."""
    folder = config.data / "cache" / "code"
    if not folder.is_dir():
        DiskCache(folder, writable=True)
    return str(folder)


def read_compiled(folder: str | None) -> None:
    """Has processes that are started from now on read compiled code here; None: in the installation's folder.

    Those that run are left alone, and replaced when somebody asks the next time.
    """
    global _compiled
    _compiled = folder


def launcher(*, questions: bool = True) -> Launcher:
    """The one of this process; its zygote starts with the first question.

    Without ``questions`` it is wanted for tasks only, and may know nothing of `ANSWERING`, which takes a fifth of its
    start: commands are over before anybody asks. One that knows too little is replaced.
    """
    with _lock:
        folder, answers, found = _launchers.get(os.getpid(), (None, False, None))
        if found is not None and (folder != _compiled or (questions and not answers)):
            found.close()
            found = None
        if found is None:
            if not _launchers:
                atexit.register(close)
            answering = ANSWERING if questions else ()
            found = Launcher(cache=_compiled or compiled_folder(config()), answering=answering)
            _launchers[os.getpid()] = (_compiled, questions, found)
        return found


def planner() -> Launcher:
    """The one of this process for plans of many environments: a zygote of its own, behind all others in turn."""
    with _lock:
        found = _planners.get(os.getpid())
        if found is None:
            if not _planners:
                atexit.register(close)
            found = _planners[os.getpid()] = Launcher(
                cache=_compiled or compiled_folder(config()), answering=PLANNING, nice=_NICE
            )
        return found


def close() -> None:
    """Ends the zygotes of this process."""
    with _lock:
        _, _, found = _launchers.pop(os.getpid(), (None, False, None))
        plans = _planners.pop(os.getpid(), None)
    for one in (found, plans):
        if one is not None:
            one.close()
