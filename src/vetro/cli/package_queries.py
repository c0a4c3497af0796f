"""What `vetro deploy` asks the packages before anything is made. Their code runs in task processes, never in here."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vetro.cli import output as out
from vetro.cli.compile_cache import cache_folder, code_cache
from vetro.engine.models.unknown_properties import warning_text
from vetro.engine.query.query import AskFailed, ask
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget, Task
from vetro.packages.manifest import MURANOPL
from vetro.server import sandboxed_workers

#: Seconds for one question.
TIMEOUT = 60.0


class Given(NamedTuple):
    """What questions are asked with."""

    settings: Mapping[str, Any] = {"home_region": "", "rabbitmq": {"host": "unix:/run/vetro/agent.sock"}}
    configs: Sequence[Mapping[str, Any]] = ()
    plugins: Sequence[str] | None = None
    budget: Budget = Budget()


def given_of(client: Any) -> Given:
    """What holds in the workspace of a local client. Of a server's settings nothing is known here."""
    if not client.local:
        return Given()
    from vetro.server.tasks import spec

    config = client.workspace.config
    return Given(spec.engine_settings(config), spec.class_configs(config), spec.plugins(config), spec.budget(config))


@contextmanager
def launcher(packages: Iterable[Any], client: Any = None, *, definitions: bool = False) -> Iterator[Any]:
    """Starts task processes; ``packages`` are compiled first, into the cache of the command line.

    Those of a local client are the ones that run its tasks, too. ``definitions``: they are asked about UI definitions.
    """
    cached = code_cache(packages) is not None
    folder = cache_folder() if cached else None
    if client is not None and client.local:
        sandboxed_workers.read_compiled(None if folder is None else str(folder))
        yield sandboxed_workers.launcher(questions=definitions)
        return
    with Launcher(cache=folder) as made:
        yield made


class PackageQueries:
    """Questions about some packages. A context manager: packages that tasks cannot read as they are are unpacked."""

    def __init__(self, processes: Any, packages: Iterable[Any], given: Given) -> None:
        self._processes = processes
        self._packages = list(packages)
        self._given = given
        self._unpacked = tempfile.TemporaryDirectory(prefix="vetro-packages-")
        self._paths: list[str] = []

    def __enter__(self) -> PackageQueries:
        try:
            self._paths = [_readable(package, Path(self._unpacked.name)) for package in self._packages]
        except BaseException:
            self._unpacked.cleanup()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._unpacked.cleanup()

    def application(
        self, type_: Any, model: Mapping[str, Any], answers: Mapping[str, Any], named: str | None, **options: Any
    ) -> Any:
        """What `vetro.engine.models.put` puts into the model; ``options`` are those of
        `vetro.engine.models.apply_answers`. Raises `AskFailed`."""
        on_class = {"name": type_.name, "version": f"=={type_.version}", "package": type_.package.name}
        args = {"answers": answers, "application": named, **options}
        return self._ask("suggest", model, on_class=on_class, args=args)

    def check(self, model: Mapping[str, Any], sources: Callable[[str], str | None]) -> None:
        """Ends the command when the model cannot be deployed, with everything that is wrong in it."""
        found = self._ask("check_model", model)
        for one in found.get("warnings") or ():
            out.note(out.style(f"warning: {warning_text(one)}", fg="yellow"))
        errors = found["errors"]
        for error in errors:
            out.print_error(with_calls(AskFailed(error)), sources)
        if errors:
            sys.exit(out.FAILED)

    def _ask(self, kind: Any, model: Mapping[str, Any], **more: Any) -> Any:
        task = Task(
            id=secrets.token_hex(8),
            kind=kind,
            packages=tuple(self._paths),
            model=model,
            seed=secrets.token_hex(16),
            settings=self._given.settings,
            configs=tuple(self._given.configs),
            plugins=self._given.plugins,
            budget=self._given.budget,
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


def _readable(package: Any, folder: Path) -> str:
    """The absolute path where a task finds a loaded package: where it is, or unpacked in ``folder``.

    Plug-ins of other formats want a folder, and tasks make no files.
    """
    if package.manifest.format.name == MURANOPL:
        return os.path.abspath(str(package.location))
    target = folder / hashlib.sha256(package.blob).hexdigest()
    if not target.is_dir():
        for path in package.files.paths():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(package.files.read(path))
        package.plugin.prepare(str(target))
    return str(target)
