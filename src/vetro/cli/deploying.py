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
DRIVERS = ("auto", "nspawn", "proot", "record", "openstack")


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
    """The server driver: ``auto`` takes the OpenStack of the workspace's settings, else real servers where this machine
    can have them, and says which it took. Raises `SettingsError`.
    """
    from vetro.engine.workspace.running import OPENSTACK
    from vetro.engine.workspace.settings import FILE, SettingsError

    if wanted == OPENSTACK and workspace.settings().openstack is None:
        raise SettingsError(
            f"the workspace {workspace.root} knows no OpenStack",
            hint=f"write the section cloud.openstack into its {FILE} (docs/openstack.md)",
        )
    if wanted != "auto":
        return wanted
    if workspace.settings().openstack is not None:
        out.note(f"servers: {OPENSTACK} (cloud.openstack in {FILE})")
        return OPENSTACK
    from vetro.clouds.kinds import choose_driver as choose

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
    from vetro.cli.history_shown import UNCHANGED, print_plan
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
    from vetro.cli.compiled import cache_folder
    from vetro.cli.summary import name_of
    from vetro.cli.watching import Watch
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
    from vetro.muranopl.render import clean

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
