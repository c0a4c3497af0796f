"""`ask`: what packages say: schemas, forms, suggestions, checks of models. No package expression runs in this process.

Questions are answered by task processes that are forked from one zygote of this process, can change nothing, and are
killed when they take too long (`vetro.engine.query.query`).
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vetro.engine.query import query
from vetro.engine.task.launcher import LauncherError
from vetro.engine.task.task import Budget, Task
from vetro.server import sandboxed_workers
from vetro.server.caller import Caller
from vetro.server.config.config import Config
from vetro.server.requests.slow_requests import held
from vetro.server.setup import config as current
from vetro.server.tasks import spec
from vetro.server.tasks.concurrency import ConcurrencyLimit

_log = logging.getLogger("vetro.serve")
_lock = threading.Lock()


class _Answering:
    """What a process that asks keeps."""

    def __init__(self, config: Config) -> None:
        self.limit = ConcurrencyLimit(config["ask.children"])
        self.settings = spec.engine_settings(config)
        self.configs = spec.class_configs(config)


#: Processes that have begun to `warm_up_soon`.
_warming: set[int] = set()
#: By process: what a forked process inherits is not its own.
_answering: dict[int, _Answering] = {}


def _mine() -> _Answering:
    with _lock:
        found = _answering.get(os.getpid())
        if found is None:
            found = _answering[os.getpid()] = _Answering(current())
        return found


def warm_up() -> None:
    """Starts the zygote, so that the first question need not wait for it."""
    sandboxed_workers.launcher().start().close()


def warm_up_soon() -> None:
    """The same beside what this process does, once: somebody looks at pages, and may want a form next.

    Only in processes of the HTTP server; others ask when they have to.
    """
    pid = os.getpid()
    if pid not in _warming and os.environ.get("VETRO_HTTP"):
        _warming.add(pid)
        threading.Thread(target=_warm_up, name="warming", daemon=True).start()


def _warm_up() -> None:
    try:
        warm_up()
    except LauncherError as error:  # whoever asks is told
        _log.warning("task processes cannot be started: %s", error.message)


def close() -> None:
    """Ends the zygote of this process."""
    with _lock:
        _answering.pop(os.getpid(), None)
    sandboxed_workers.close()


def ask(
    caller: Caller,
    kind: str,
    *,
    packages: Sequence[Any],
    model: Mapping[str, Any] | None = None,
    on_class: Mapping[str, Any] | None = None,
    method: str | None = None,
    args: Mapping[str, Any] | None = None,
    object_id: str | None = None,
    timeout: float | None = None,
    budget: Budget | None = None,
) -> Any:
    """The result of a question, plain data; ``kind`` and the rest as in `vetro.engine.task.task.Task`.

    ``packages`` are rows of the catalog (what `vetro.server.catalog.dependencies.packages_for` gives).
    ``timeout``: seconds, by default setting ``ask.seconds``. ``budget``: what answering may take, by default what tasks
    may. Raises `vetro.engine.query.query.AskFailed` (its subclass `AskTimeout`) with the failure of the
    package, `Unavailable` when it is not the project's turn in time, `BlobMissing`. Call it outside of transactions.
    """
    mine, config = _mine(), current()
    seconds = config["ask.seconds"] if timeout is None else timeout
    task = _task(
        mine, config, kind, packages, model=dict(model or {}), method=method, args=dict(args or {}),
        object_id=object_id, on_class=on_class, **({} if budget is None else {"budget": budget}),
    )  # fmt: skip
    with held(caller.project_id), mine.limit.entered(caller.project_id, seconds):
        return query.ask(
            task, launcher=sandboxed_workers.launcher(), timeout=seconds, identities=spec.identities(caller)
        )


def converse(caller: Caller, about: str, packages: Sequence[Any] = ()) -> query.Conversation:
    """A task process that answers one question after another (`sandboxed_workers.ANSWERING`). Ask it, and make it,
    within `turn`.

    Raises what `ask` raises. It lives until it is closed, or this process ends.
    """
    mine, config = _mine(), current()
    task = _task(mine, config, "questions", packages, method=about)
    return query.Conversation(
        task, launcher=sandboxed_workers.launcher(), timeout=config["ask.seconds"], identities=spec.identities(caller)
    )


@contextmanager
def turn(caller: Caller) -> Iterator[None]:
    """The turn of the caller's project to ask; at most so many questions are answered at once. Raises `Unavailable`."""
    with held(caller.project_id), _mine().limit.entered(caller.project_id, current()["ask.seconds"]):
        yield


def _task(mine: _Answering, config: Config, kind: str, packages: Sequence[Any], **more: Any) -> Task:
    return Task(
        id="ask",
        kind=kind,  # type: ignore[arg-type]
        packages=tuple(spec.local_paths([package.digest for package in packages])),
        seed=secrets.token_hex(16),
        settings=mine.settings,
        configs=mine.configs,
        **{"budget": spec.budget(config), **more},
    )
