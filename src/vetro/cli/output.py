"""How commands print: data, tables, errors; and how they end.

Data goes to standard output and nothing else does; progress, reports and errors go to standard error. Colours appear
only on a terminal, and not when NO_COLOR is set. No heavy import here: every command pays for this module.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex
from shlex import quote
from typing import Any, NoReturn, TextIO, TypeVar

import click
from click.shell_completion import CompletionItem

from vetro.cli.plaindata import json_text, yaml_text
from vetro.visible import visible

F = TypeVar("F", bound=Callable[..., Any])

#: Exit status when a package, model or expression is at fault (2 is a wrong command line, click's own).
FAILED = 1
#: Exit status when Vetro itself has a defect.
DEFECT = 3
#: Exit status after Ctrl-C, as shells have it.
INTERRUPTED = 130
#: A format with all columns, and what begins one that is an expression.
WIDE, QUERY = "wide", "jmespath="
#: What writing to standard output says where the disk behind it, or the owner's share of it, is full.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


#: Before the numbers of a colour. Nobody else knows it: what packages and servers colour is no colour.
_OURS = f"\ue0f0{token_hex(8)}:"
_STYLE = re.compile(rf"{_OURS}([0-9;]*)m")
_COLOUR = re.compile(r"\x1b\[([0-9;]*)m")


def colored(stream: TextIO) -> bool:
    """Whether text for ``stream`` may hold colours: FORCE_COLOR says yes, NO_COLOR and dumb terminals say no."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def style(text: str, **looks: Any) -> str:
    """``text`` in colours, as `click.style` takes them, for `echo` and `note` only."""
    return _COLOUR.sub(rf"{_OURS}\1m", click.style(visible(text), **looks))


def plain(text: str) -> str:
    """Text for `echo` without its colours, with nothing in it that a terminal would obey."""
    return visible(_STYLE.sub("", text))


def ansi(text: str) -> str:
    """The same with the colours as terminals take them."""
    parts = _STYLE.split(text)
    return "".join(f"\x1b[{part}m" if index % 2 else visible(part) for index, part in enumerate(parts))


def echo(text: str, *, err: bool = False, nl: bool = True, raw: bool = False) -> None:
    """Prints text; characters that the stream cannot write become escapes.

    So do those that would command a terminal, hide, or turn the direction: names, reports and results are anybody's
    words. ``raw``: data for programs, which stays as it is unless it goes to a terminal.
    """
    stream = sys.stderr if err else sys.stdout
    if not raw or colored(stream) or stream.isatty():
        text = ansi(text) if colored(stream) else plain(text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    click.echo(text, err=err, nl=nl, color=colored(stream))


def rendered(text: str) -> str:
    """What `vetro.muranopl.tools.render` drew, for `echo`, which cleans what it is given: these colours are ours."""
    return _COLOUR.sub(rf"{_OURS}\1m", text)


def note(text: str) -> None:
    """A line for the person at the terminal, on standard error."""
    echo(text, err=True)


def shown(text: str) -> str:
    """``text`` with paths below the current folder made relative: shorter, and the same on every machine."""
    try:
        here = os.getcwd()
    except OSError:  # the folder was removed meanwhile
        return text
    return text if here == os.sep else text.replace(here + os.sep, "")


def quoted(text: str) -> str:
    """A word as a shell takes it."""
    return quote(text)


def plural(count: int, word: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count} {word}{'' if count == 1 else 's'}"


class Format(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """One of some formats; also `WIDE` where there are tables, and `QUERY` with an expression where there is JSON."""

    name = "format"

    def __init__(self, formats: Sequence[str]) -> None:
        self.formats = list(formats)
        if "json" in formats:
            self.formats.append(f"{QUERY}EXPRESSION")
        if "table" in formats:
            self.formats.insert(1, WIDE)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """All of them, as `click.Choice` shows its own."""
        return f"[{'|'.join(self.formats)}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The format for `print_data`. A wide table is a table, and the command's context keeps that it is wide."""
        if value == WIDE and WIDE in self.formats:
            if ctx is not None:
                ctx.meta[WIDE] = True
            return "table"
        if value.startswith(QUERY) and "json" in self.formats:
            jmespath, expression = _jmespath(), value.removeprefix(QUERY)
            try:
                jmespath.compile(expression)
            except jmespath.exceptions.JMESPathError as error:
                self.fail(f"{expression!r} is no JMESPath expression: {error}", param, ctx)
            return value
        if value not in self.formats or value.startswith(QUERY):
            self.fail(f"'{value}' is not one of {', '.join(self.formats)}", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """All of them."""
        words = (QUERY if one.startswith(QUERY) else one for one in self.formats)
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def output_option(*formats: str) -> Callable[[F], F]:
    """``-o/--output``: one of ``formats``, the first is the default. Tables can be had wide (`wide`), and of what JSON
    would show a JMESPath expression picks (`print_data`)."""
    more = "".join(
        (
            " 'wide' shows more columns." if "table" in formats else "",
            " 'jmespath=EXPRESSION' picks from what 'json' prints." if "json" in formats else "",
        )
    )
    return click.option(
        "-o",
        "--output",
        "output",
        type=Format(formats),
        default=formats[0],
        show_default=True,
        help=f"Format of what is printed.{more}",
    )


def wide() -> bool:
    """Whether the command that runs was asked for all columns."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(WIDE))


def confirmed(question: str, sure: bool) -> bool:
    """Whether the person says yes; ``sure``: it was said already, by ``--yes``. Where nobody can be asked, the command
    ends and names that option."""
    if sure:
        return True
    try:
        return click.confirm(question, err=True)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError):
            raise
        echo("", err=True)
        fail("the input ended before the question was answered", "--yes answers it")


def yes_option(function: F) -> F:
    """``--yes``, for commands that ask before something is lost."""
    return click.option("--yes", "sure", is_flag=True, help="Do not ask.")(function)


def print_data(data: Any, output: str) -> None:
    """Prints plain data as JSON or YAML, or what an expression picks from it: texts and numbers bare, those of a list
    one a line, those of a list in a list apart by tabs, anything else as JSON."""
    if output.startswith(QUERY):
        data, output = _picked(data, output.removeprefix(QUERY)), "json"
        lines = _bare(data)
        if lines is not None:
            for line in lines:
                echo(line, raw=True)
            return
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # the language bounds its integers itself, a little beyond Python's limit
    try:
        text = json_text(data) if output == "json" else yaml_text(data)
    except RecursionError:
        fail("the data is nested too deeply for YAML", "use '-o json'")
    finally:
        sys.set_int_max_str_digits(digits)
    echo(text, raw=True)


def _jmespath() -> Any:
    import jmespath  # for those who ask so

    return jmespath


def _picked(data: Any, expression: str) -> Any:
    jmespath = _jmespath()
    try:
        return jmespath.search(expression, data)
    except jmespath.exceptions.JMESPathError as error:
        fail(f"the expression fails: {error}", "'-o json' prints what it is applied to")


def _bare(data: Any) -> list[str] | None:
    """Lines for data without structure; None where there is some."""

    def flat(value: Any) -> bool:
        return value is None or isinstance(value, str | int | float)

    def text(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None else json_text(value)

    if data is None:
        return []
    if flat(data):
        return [text(data)]
    if not isinstance(data, list):
        return None
    if all(flat(item) for item in data):
        return [text(item) for item in data]
    if all(isinstance(item, list) and all(flat(cell) for cell in item) for item in data):
        return ["\t".join(text(cell) for cell in item) for item in data]
    return None


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints rows below column names. Nothing is cut: the terminal wraps long lines, and `grep` sees whole ones."""
    cells = [["" if cell is None else " ".join(str(cell).split()) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(columns), *cells]) for i in range(len(columns))]
    for index, row in enumerate([list(columns), *cells]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        echo(style(line, bold=True) if index == 0 else line)


def fail(message: str, hint: str | None = None, status: int = FAILED) -> NoReturn:
    """Prints an error and ends the command."""
    echo(style("error: ", fg="red", bold=True) + shown(message), err=True)
    if hint:
        echo(style("hint: ", fg="cyan") + shown(hint), err=True)
    sys.exit(status)


@contextmanager
def explained(sources: Callable[[str], str | None] | None = None) -> Iterator[None]:
    """Turns errors of packages, models and files into a rendered message and exit status 1.

    ``sources`` gives the text of a package file by its id, for the line and caret below the message.
    """
    from vetro.yaql.errors import Stop, VetroError

    try:
        yield
    except (VetroError, Stop) as error:
        print_error(error, sources)
        sys.exit(FAILED)
    except (BrokenPipeError, MemoryError):
        raise
    except Exception as error:
        if getattr(error, "murano_frames", None):  # raised while code of a package ran: the package's own
            print_error(error, sources)
            sys.exit(FAILED)
        if isinstance(error, OSError) and error.strerror:
            fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
        raise


def print_error(error: BaseException, sources: Callable[[str], str | None] | None, *, err: bool = True) -> None:
    """Prints one error with its place, calls and fix."""
    from vetro.cli.problems import render_error

    stream = sys.stderr if err else sys.stdout
    echo(rendered(shown(render_error(error, sources, color=colored(stream)))), err=err)


@contextmanager
def guarded() -> Iterator[None]:
    """Around every command: Ctrl-C and defects of Vetro end it with one line instead of a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted", status=INTERRUPTED)
    except click.Abort as error:  # what click makes of Ctrl-C, and of an input that ends, while it asks something
        echo("", err=True)
        if isinstance(error.__context__, EOFError):
            fail("the input ended before the question was answered", "options answer it, too: see --help")
        fail("interrupted", status=INTERRUPTED)
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("VETRO_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno in _FULL and not error.filename:
            # What is left in the buffer would be written, and fail, once more when Python ends.
            with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            fail(f"what was printed could not be written: {error.strerror}", "the result is not complete")
        text = " ".join(f"{type(error).__name__}: {error}".split())
        fail(
            f"a defect in Vetro: {text}",
            "please report it; with VETRO_TRACEBACK=1 the command shows where it happened",
            DEFECT,
        )
