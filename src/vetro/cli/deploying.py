"""What `vetro deploy` and `vetro env` share: opening a workspace, running a task with a live view, how it ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from vetro.cli import output as out

F = TypeVar("F", bound=Callable[..., Any])

DRIVERS = ("auto", "nspawn", "proot", "record")


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


def choose_driver(wanted: str, workspace: Any) -> str:
    """The server driver: ``auto`` takes real servers where this machine can have them, and says which it took."""
    if wanted != "auto":
        return wanted
    from vetro.clouds.local.drivers.choice import choose_driver as choose

    name, reason = choose(workspace.cloud)
    out.note(f"servers: {name} ({reason})")
    return str(name)


def execute(
    workspace: Any,
    folder: Any,
    begun: Any,
    *,
    quiet: bool = False,
    verbose: bool = False,
    timeout: float | None = None,
) -> Any:
    """Runs a task that was written down, with a live view; Ctrl-C cancels it, a second one leaves it interrupted."""
    from vetro.cli.summary import name_of
    from vetro.cli.watching import Watch
    from vetro.engine.models import Environment
    from vetro.engine.workspace.running import run

    task = begun.task()
    objects = [*Environment(task.model).objects(), *Environment({"Objects": task.model.get("ObjectsCopy")}).objects()]
    names = {str(o["?"].get("id")): name_of(o) for o in reversed(objects)}
    with Watch(names, quiet=quiet, verbose=verbose) as watch, _interruptible() as on_worker:
        return run(workspace, folder, begun, events=watch.event, on_worker=on_worker, timeout=timeout)


@contextmanager
def _interruptible() -> Iterator[Callable[[Any], None]]:
    workers: list[Any] = []

    def interrupt(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        out.note("cancelling; press Ctrl-C again to leave it interrupted (vetro env resume goes on)")
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
        out.note(
            click.style("waiting for a decision: ", fg="yellow", bold=True) + "nobody knows whether this was done:"
        )
        for effect in outcome.open:
            out.note(f"  {effect.key}  {effect.kind}  {dict(effect.args)}")
        out.note(f"hint: vetro env resolve {folder.name} KEY --done|--redo")
        sys.exit(out.FAILED)
    error: Mapping[str, Any] = outcome.error or {}
    out.echo(
        click.style(f"{outcome.state}: ", fg="red", bold=True) + out.shown(str(error.get("message") or "")), err=True
    )
    for line in _places(error):
        out.note("  " + out.shown(line))
    if error.get("hint"):
        out.echo(click.style("hint: ", fg="cyan") + out.shown(str(error["hint"])), err=True)
    out.note(f"environment '{folder.name}' keeps what was made: change it and deploy again, or vetro env destroy")
    sys.exit(out.FAILED)


def _places(error: Mapping[str, Any]) -> list[str]:
    """Where it happened, innermost last."""
    trace = error.get("trace") or error.get("stack") or error.get("stack_trace") or ()
    if isinstance(trace, str):
        return trace.strip().splitlines()
    lines = []
    for frame in trace:
        if isinstance(frame, Mapping):
            where = f"{frame.get('file')}:{frame.get('line')}"
            lines.append(f"at {where} in {frame.get('type') or ''} {frame.get('method') or ''}".rstrip())
        else:
            lines.append(str(frame))
    return lines


def show_summary(folder: Any, seconds: float | None = None) -> None:
    """The environment's components with servers and addresses."""
    from vetro.cli.summary import outputs, rows

    environment = folder.model()
    took = f" in {seconds:.1f} s" if seconds is not None else ""
    if environment.root is None:
        out.note(click.style(f"environment '{folder.name}' is empty{took}", fg="green"))
        return
    out.note(click.style(f"environment '{folder.name}' is deployed{took}", fg="green"))
    table = rows(environment)
    if table:
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, name, value in outputs(environment):
        out.echo(f"{component}.{name}: {value}")
