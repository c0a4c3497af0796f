"""How commands print: consoles, formats of data, errors.

Data goes to standard output and nothing else does; progress, reports and errors go to standard error. Colours appear
only on a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])

#: Exit status when a package, model or expression is at fault (2 is a wrong command line, click's own).
FAILED = 1


@cache
def stdout() -> Console:
    """The console for data."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


@cache
def stderr() -> Console:
    """The console for progress and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def output_option(*formats: str, default: str | None = None) -> Callable[[F], F]:
    """``-o/--output``: one of ``formats``."""
    return click.option(
        "-o",
        "--output",
        "output",
        type=click.Choice(formats),
        default=default or formats[0],
        show_default=True,
        help="Format of the printed data.",
    )


def print_data(data: Any, output: str) -> None:
    """Prints plain data as JSON or YAML."""
    if output == "json":
        click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))
        return
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    click.echo(yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100), nl=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], empty: str) -> None:
    """Prints rows as a table; ``empty`` says what to do when there are none."""
    if not rows:
        stderr().print(empty)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    stdout().print(table)


def fail(message: str, hint: str | None = None) -> None:
    """Prints an error and ends the command with status 1."""
    from rich.text import Text

    text = Text("error: ", style="bold red").append(Text(message, style="default"))
    stderr().print(text)
    if hint:
        stderr().print(Text("hint: ", style="bold cyan").append(Text(hint, style="default")))
    sys.exit(FAILED)


@contextmanager
def explained(sources: Callable[[str], str | None] | None = None) -> Iterator[None]:
    """Turns errors of packages and models into a rendered message and exit status 1.

    ``sources`` gives the text of a package file by its id, for the line and caret below the message.
    """
    from vetro.yaql.errors import Stop, VetroError

    try:
        yield
    except (VetroError, Stop) as error:
        from vetro.cli.problems import render_error

        stderr().print(render_error(error, sources, color=stderr().is_terminal), markup=False)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        fail("interrupted")
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, AssertionError) as error:
        if not getattr(error, "murano_frames", None):
            raise
        from vetro.cli.problems import render_error

        stderr().print(render_error(error, sources, color=stderr().is_terminal), markup=False)
        sys.exit(FAILED)


def read_data(path: str) -> Any:
    """Data of a JSON or YAML file; ``-`` is standard input. Fails the command when it cannot be read."""
    import yaml

    try:
        text = sys.stdin.read() if path == "-" else open(path, encoding="utf-8").read()  # noqa: SIM115
    except OSError as error:
        fail(f"cannot read {path}: {error.strerror}")
    except UnicodeDecodeError:
        fail(f"{path} is no UTF-8 text")
    try:
        if text.lstrip().startswith(("{", "[")):
            try:
                return json.loads(text)
            except json.JSONDecodeError:
                pass  # flow-style YAML looks like JSON
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        fail(f"{path} is neither JSON nor YAML: {error}")
