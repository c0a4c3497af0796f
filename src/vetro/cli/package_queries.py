"""What `vetro deploy` asks the packages before anything is made. Their code runs in task processes, never in here."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vetro.cli import output as out

#: Seconds for one question.
TIMEOUT = 60.0


@contextmanager
def launcher(packages: Iterable[Any]) -> Iterator[Any]:
    """Starts task processes; ``packages`` are compiled first, into the cache of the command line."""
    from vetro.cli.compile_cache import cache_folder, code_cache
    from vetro.engine.task.launcher import Launcher

    cached = code_cache(packages) is not None
    with Launcher(cache=cache_folder() if cached else None) as made:
        yield made


class Asked:
    """Questions about some packages. A context manager: packages that tasks cannot read as they are are unpacked."""

    def __init__(self, processes: Any, packages: Iterable[Any], workspace: Any) -> None:
        self._processes = processes
        self._packages = list(packages)
        self._settings = workspace.settings()
        self._unpacked = tempfile.TemporaryDirectory(prefix="vetro-packages-")
        self._paths: list[str] = []

    def __enter__(self) -> Asked:
        from vetro.engine.workspace.packing import readable

        try:
            self._paths = [readable(package, Path(self._unpacked.name)) for package in self._packages]
        except BaseException:
            self._unpacked.cleanup()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._unpacked.cleanup()

    def application(self, type_: Any, model: Mapping[str, Any], answers: Mapping[str, Any], named: str | None) -> Any:
        """What `vetro.engine.models.put` puts into the model. Raises `AskFailed`."""
        on_class = {"name": type_.name, "version": f"=={type_.version}", "package": type_.package.name}
        return self._ask("suggest", model, on_class=on_class, args={"answers": answers, "application": named})

    def check(self, model: Mapping[str, Any], sources: Callable[[str], str | None]) -> None:
        """Ends the command when the model cannot be deployed, with everything that is wrong in it."""
        from vetro.engine.query.query import AskFailed

        errors = self._ask("check_model", model)["errors"]
        for error in errors:
            out.print_error(with_calls(AskFailed(error)), sources)
        if errors:
            sys.exit(out.FAILED)

    def _ask(self, kind: Any, model: Mapping[str, Any], **more: Any) -> Any:
        from vetro.engine.query.query import AskFailed, ask
        from vetro.engine.task.task import Task
        from vetro.engine.workspace.running import settings

        given = self._settings
        task = Task(
            id=secrets.token_hex(8),
            kind=kind,
            packages=tuple(self._paths),
            model=model,
            seed=secrets.token_hex(16),
            settings=settings(given, None),
            configs=tuple(given.class_configs),
            plugins=given.plugins,
            budget=given.budget,
            **more,
        )
        try:
            return ask(task, launcher=self._processes, timeout=TIMEOUT)
        except AskFailed as error:
            raise with_calls(error) from None


def with_calls(error: Any) -> Any:
    """The error, with the calls that led to it as notes."""
    frames = error.error.get("frames") or ()
    if len(frames) > 1:
        for frame in reversed(frames):
            error.add_note(f"at {frame['class']}::{frame['method']} ({out.shown(frame['file'])}:{frame['line']})")
    return error
