"""What `vetro deploy` and `vetro env` share: opening a workspace, running a task with a live view, how it ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import click

from vetro.cli import output as out

F = TypeVar("F", bound=Callable[..., Any])

#: How much of a failure is shown: innermost calls, last lines of what a script wrote.
LAST_CALLS, LAST_LINES = 5, 10


class KindName(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """The name of a kind of clouds that is installed, or ``auto``."""

    name = "kind"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> str:
        """The name. What is installed is read for others than ``auto`` only."""
        if value == "auto":
            return value
        from vetro.clouds import kinds

        if value not in kinds.names():
            missing = _missing(value)
            hint = f" ({missing.hint})" if missing.hint else ""
            self.fail(f"{missing.message}{hint}", param, context)
        return value

    def shell_complete(self, context: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """All names."""
        from click.shell_completion import CompletionItem

        from vetro.clouds import kinds

        return [CompletionItem(name) for name in ("auto", *kinds.names()) if name.startswith(incomplete)]


def _missing(name: str) -> Any:
    from vetro.clouds import kinds

    try:
        kinds.find(name)
    except kinds.KindMissing as error:
        return error
    raise AssertionError(name)


def workspace_option(function: F) -> F:
    """``--workspace``."""
    return click.option(
        "--workspace",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Folder of environments.  [default: $VETRO_WORKSPACE, else ~/.local/share/vetro]",
    )(function)


def run_options(function: F) -> F:
    """Options of commands that run a task."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Show the log lines of the packages, too."),
        click.option("-q", "--quiet", is_flag=True, help="Show no progress, only how it ended."),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Cancel the task after so much time.",
        ),
        workspace_option,
    ):
        function = option(function)
    return function


def open_workspace(path: str | None) -> Any:
    """The workspace at ``path``, or the user's."""
    from vetro.engine.workspace import Workspace

    return Workspace(path)


def choose_driver(wanted: str, workspace: Any, *, quiet: bool = False) -> str:
    """The kind of the cloud: ``auto`` takes one that the workspace's settings name and that is on no machine, else the
    best that works here, and says which. Raises `SettingsError`, `KindMissing`.
    """
    from vetro.clouds import kinds
    from vetro.clouds.interface import Place
    from vetro.engine.workspace.running import cloud_settings
    from vetro.engine.workspace.settings import FILE

    given = workspace.settings()
    if wanted not in kinds.AUTOMATIC:
        cloud_settings(given, kinds.find(wanted))
        return wanted
    name = next((name for name in given.clouds if kinds.find(name).rank is None), None)
    reason = f"cloud.{name} in {FILE}"
    if name is None:
        choice = kinds.choose(Place(directory=workspace.cloud))
        name, reason = choice.name, choice.reason
    if not quiet:
        out.note(f"servers: {name} ({reason})")
    return name


def execute(
    workspace: Any,
    folder: Any,
    begun: Any,
    *,
    quiet: bool = False,
    verbose: bool = False,
    timeout: float | None = None,
    launcher: Any = None,
) -> Any:
    """Runs a task that was written down, with a live view; Ctrl-C cancels it, a second one leaves it interrupted."""
    from vetro.engine.workspace.running import run

    second = "leave it interrupted (vetro env resume goes on)"
    with _watched(begun.task().model, "deploying", second, quiet=quiet, verbose=verbose) as options:
        return run(workspace, folder, begun, timeout=timeout, launcher=launcher, **options)


def rehearse(
    workspace: Any,
    folder: Any,
    model: Mapping[str, Any],
    output: str,
    *,
    quiet: bool = False,
    verbose: bool = False,
    timeout: float | None = None,
    launcher: Any = None,
) -> None:
    """Plans the deployment of a model in a scratch folder (`vetro.engine.workspace.planning`) and prints what it says.

    Ends the command with status 1 when the deployment would not end well.
    """
    from vetro.cli.differences import UNCHANGED, print_plan
    from vetro.engine.workspace.planning import plan

    with _watched(model, "planning", "stop at once", quiet=quiet, verbose=verbose) as options:
        outcome = plan(workspace, folder, model, timeout=timeout, launcher=launcher, **options)
    if outcome.state != "done":
        show_error(folder, outcome.state, outcome.error or {})
        out.note(out.style(UNCHANGED, fg="green"))
        sys.exit(out.FAILED)
    print_plan(outcome.result, output)


@contextmanager
def _watched(
    model: Mapping[str, Any], what: str, second: str, *, quiet: bool, verbose: bool
) -> Iterator[dict[str, Any]]:
    """Options for a run over ``model`` with a live view; ``second`` says what a second Ctrl-C does."""
    from vetro.cli.compile_cache import cache_folder
    from vetro.cli.live_view import Watch
    from vetro.cli.summary import name_of
    from vetro.engine.models import Environment

    objects = [*Environment(model).objects(), *Environment({"Objects": model.get("ObjectsCopy")}).objects()]
    names = {str(o["?"].get("id")): name_of(o) for o in reversed(objects)}
    compiled = cache_folder()
    cache = str(compiled) if compiled is not None and compiled.is_dir() else None
    with Watch(names, quiet=quiet, verbose=verbose, what=what) as watch, _interruptible(second) as on_worker:
        yield {"events": partial(_show, watch), "on_worker": on_worker, "cache": cache}


def _show(watch: Any, event: Mapping[str, Any]) -> None:
    """An event of the worker; warnings about packages are for everybody, not only for who wants all log lines."""
    from vetro.engine.warning_notes import LOGGER

    args = event.get("args") or {}
    if event.get("event") == "note" and event.get("kind") == "log" and args.get("logger") == LOGGER:
        event = {**event, "kind": "report", "args": {"level": args.get("level"), "text": args.get("text")}}
    watch.event(event)


@contextmanager
def _interruptible(second: str) -> Iterator[Callable[[Any], None]]:
    workers: list[Any] = []

    def interrupt(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        out.note(f"cancelling; press Ctrl-C again to {second}")
        for worker in workers:
            worker.cancel("cancelled by Ctrl-C")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield workers.append
    finally:
        signal.signal(signal.SIGINT, before)


def conclude(folder: Any, outcome: Any, sources: Callable[[str], str | None] | None = None) -> None:
    """Says how a task ended; ends the command with status 1 unless it is done."""
    if outcome.state == "done":
        return
    if outcome.state == "needs_person":
        out.note(out.style("waiting for a decision: ", fg="yellow", bold=True) + "nobody knows whether this was done:")
        for effect in outcome.open:
            out.note(f"  {effect.key}  {effect.kind}  {dict(effect.args)}")
        out.note(f"hint: vetro env resolve {folder.name} KEY --done|--redo")
        sys.exit(out.FAILED)
    show_error(folder, outcome.state, outcome.error or {})
    out.note(f"environment '{folder.name}' keeps what was made: change it and deploy again, or vetro env destroy")
    sys.exit(out.FAILED)


def show_error(folder: Any, state: str, error: Mapping[str, Any]) -> None:
    """An error as tasks describe it (`vetro.engine.failure`): message, where it happened, what a script wrote."""
    from vetro.muranopl.tools.render import clean

    code = f"[{error['code']}]" if error.get("code") else ""
    message = clean(str(error.get("message") or ""))
    out.echo(out.style(f"{state}{code}: ", fg="red", bold=True) + out.shown(message), err=True)
    frames = [f for f in error.get("frames") or () if isinstance(f, Mapping)]
    for frame in reversed(frames[-LAST_CALLS:]):
        what = f"{frame.get('class')}::{frame.get('method')}"
        out.note(f"  at {_place(folder, frame)} in {clean(what)}")
    if not frames and isinstance(error.get("position"), Mapping):
        out.note(f"  at {_place(folder, error['position'])}")
    output = error.get("output") or {}
    if "exitCode" in output:
        out.note(f"  exit code {output['exitCode']}")
    for name in ("stderr", "stdout"):
        lines = clean(str(output.get(name) or "")).strip().splitlines()
        for line in lines[-LAST_LINES:]:
            out.note(f"  {name}: {line}")
    if error.get("hint"):
        out.echo(out.style("hint: ", fg="cyan") + out.shown(str(error["hint"])), err=True)


def _place(folder: Any, place: Mapping[str, Any]) -> str:
    """``package: file:line``; the archives of an environment are named by what they hold, not by their digest."""
    import vetro.library

    file = str(place.get("file"))
    standard = os.path.dirname(str(vetro.library.__file__)) + os.sep
    if file.startswith(standard):
        package, _, inner = file.removeprefix(standard).partition(os.sep)
        return f"{package}: {inner}:{place.get('line')}"
    for entry in folder.packages:
        _, found, inner = file.partition(entry["digest"])
        if found:
            inner = inner.removeprefix(".zip").lstrip("/")
            return f"{entry['name']} {entry['version']}: {inner}:{place.get('line')}"
    return f"{out.shown(file)}:{place.get('line')}"


def show_summary(folder: Any, seconds: float | None = None) -> None:
    """The environment's components with servers and addresses."""
    from vetro.cli.summary import outputs, rows

    environment = folder.model()
    took = f" in {seconds:.1f} s" if seconds is not None else ""
    if environment.root is None:
        out.note(out.style(f"environment '{folder.name}' is empty{took}", fg="green"))
        return
    out.note(out.style(f"environment '{folder.name}' is deployed{took}", fg="green"))
    table = rows(environment)
    if table:
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, name, value in outputs(environment):
        out.echo(f"{component}.{name}: {value}")
