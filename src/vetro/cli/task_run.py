"""What `vetro deploy` and `vetro env` share: options, where servers of a workspace are made, how a task is shown."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

import vetro.library
from vetro.cli import output as out
from vetro.clouds import kinds
from vetro.server.config import cloud_settings

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
        if value not in kinds.names():
            missing = _missing(value)
            hint = f" ({missing.hint})" if missing.hint else ""
            self.fail(f"{missing.message}{hint}", param, context)
        return value

    def shell_complete(self, context: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """All names."""
        return [CompletionItem(name) for name in ("auto", *kinds.names()) if name.startswith(incomplete)]


def _missing(name: str) -> Any:
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


def chosen_cloud(client: Any, wanted: str, script: str | None, *, quiet: bool = False) -> dict[str, Any]:
    """Where servers of a new environment of a workspace are made (`Environment.cloud`): ``auto`` takes the kind that
    the workspace's settings name, else the best that works here. It says which and why. Raises `ConfigError`,
    `KindMissing`.
    """
    config, why = client.workspace.config, "--driver"
    if wanted in kinds.AUTOMATIC:
        wanted, why = cloud_settings.named_kind(config)
    if wanted:
        cloud_settings.check_kind(config, wanted)
    found = cloud_settings.selection(config, {"kind": wanted} if wanted else None, why)
    if not quiet:
        out.note(found.text)
    return {"kind": found.kind} | ({"script": os.path.abspath(script)} if script else {})


def shown(watch: Any, event: Mapping[str, Any]) -> None:
    """An event of the worker; warnings about packages are for everybody, not only for who wants all log lines."""
    from vetro.engine.warning_notes import LOGGER

    args = event.get("args") or {}
    if event.get("event") == "note" and event.get("kind") == "log" and args.get("logger") == LOGGER:
        event = {**event, "kind": "report", "args": {"level": args.get("level"), "text": args.get("text")}}
    watch.event(event)


@contextmanager
def interruptible(second: str) -> Iterator[Callable[[Any], None]]:
    """Ctrl-C cancels what was given to the function; a second one ends the command, and does what ``second`` says."""
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


def show_error(packages: Sequence[Mapping[str, str]], state: str, error: Mapping[str, Any]) -> None:
    """An error as tasks describe it (`vetro.engine.failure`): message, where it happened, what a script wrote.

    ``packages``: {name, version, digest} of those that it used.
    """
    from vetro.muranopl.tools.render import clean

    code = f"[{error['code']}]" if error.get("code") else ""
    message = clean(str(error.get("message") or ""))
    out.echo(out.style(f"{state}{code}: ", fg="red", bold=True) + out.shown(message), err=True)
    frames = [f for f in error.get("frames") or () if isinstance(f, Mapping)]
    for frame in reversed(frames[-LAST_CALLS:]):
        what = f"{frame.get('class')}::{frame.get('method')}"
        out.note(f"  at {_place(packages, frame)} in {clean(what)}")
    if not frames and isinstance(error.get("position"), Mapping):
        out.note(f"  at {_place(packages, error['position'])}")
    output = error.get("output") or {}
    if "exitCode" in output:
        out.note(f"  exit code {output['exitCode']}")
    for name in ("stderr", "stdout"):
        lines = clean(str(output.get(name) or "")).strip().splitlines()
        for line in lines[-LAST_LINES:]:
            out.note(f"  {name}: {line}")
    if error.get("hint"):
        out.echo(out.style("hint: ", fg="cyan") + out.shown(str(error["hint"])), err=True)


def _place(packages: Sequence[Mapping[str, str]], place: Mapping[str, Any]) -> str:
    """``package: file:line``; the archives of an environment are named by what they hold, not by their digest."""
    file = str(place.get("file"))
    standard = os.path.dirname(str(vetro.library.__file__)) + os.sep
    if file.startswith(standard):
        package, _, inner = file.removeprefix(standard).partition(os.sep)
        return f"{package}: {inner}:{place.get('line')}"
    for entry in packages:
        _, found, inner = file.partition(entry["digest"])
        if found:
            inner = inner.removeprefix(".zip").lstrip("/")
            return f"{entry['name']} {entry['version']}: {inner}:{place.get('line')}"
    return f"{out.shown(file)}:{place.get('line')}"
