"""`vetro repl`: try out expressions."""

from __future__ import annotations

import contextlib
import readline
import sys
from typing import TYPE_CHECKING, Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import read_data
from vetro.cli.commands.eval import is_expression_error
from vetro.cli.commands.memory import memory_option
from vetro.cli.plaindata import DataError, json_text, load_data, plain_data
from vetro.yaql.api import grammar_of, named_dialect
from vetro.yaql.parser import parse

if TYPE_CHECKING:
    from vetro.yaql.resolve.signature import FunctionTable

HELP = """\
expression         evaluate it; '$' is the data, '$_' the last result
$name = expression keep a result in a variable
:load FILE         read data (JSON or YAML) into '$'
:dialect [NAME]    show or choose the library: 'standard' or 'legacy'
:ast EXPR          show how an expression is parsed
:vars              list variables
:help              this text
:quit              leave (Ctrl-D does, too)"""

DIALECTS = ("standard", "legacy")
PROMPT = "yaql> "


class Leave(Exception):
    """The person wants to go."""


class CommandError(Exception):
    """A ':' command that is wrong."""


class Repl:
    """State of one session: data, variables, dialect."""

    def __init__(self, dialect: str, data: Any) -> None:
        self.dialect = dialect
        self.data = data
        self.variables: dict[str, Any] = {}

    def execute(self, line: str) -> str:
        """Text to print for one line of input. Raises `Leave`, `CommandError`, and what expressions raise."""
        line = line.strip()
        if not line or line.startswith("#"):
            return ""
        if line.startswith(":"):
            word, _, rest = line[1:].partition(" ")
            command = getattr(self, "do_" + word, None)
            if command is not None:
                return str(command(rest.strip()))
            if word.isidentifier() and not rest:
                raise CommandError(f"there is no command ':{word}'; ':help' lists them")
        target, text = _assignment(line)
        value = self._evaluate(text)
        self.variables[target or "_"] = value
        return self._show(value)

    def complete(self, text: str) -> list[str]:
        """What a word that begins with ``text`` may be: functions, variables, commands."""
        if text.startswith(":"):
            return sorted(f":{n[3:]}" for n in dir(self) if n.startswith("do_") and n[3:].startswith(text[1:]))
        if text.startswith("$"):
            return sorted(f"${n}" for n in self.variables if n.startswith(text[1:]))
        table: FunctionTable | None = named_dialect(self.dialect).table
        found: set[str] = set()
        while table is not None:
            found |= {n for n in table.functions if n.startswith(text) and n.isidentifier()}
            table = table.parent
        return sorted(found)

    def _evaluate(self, text: str) -> Any:
        from vetro.yaql import compile as compile_expression

        return compile_expression(text, dialect=self.dialect, grammar="standard")(self.data, **self.variables)

    def do_help(self, rest: str) -> str:
        """``:help``"""
        return HELP

    def do_quit(self, rest: str) -> str:
        """``:quit``"""
        raise Leave

    do_q = do_exit = do_quit

    def do_load(self, rest: str) -> str:
        """``:load FILE``"""
        if not rest:
            raise CommandError("name a file: ':load data.json'")
        try:
            self.data = load_data(rest)
        except DataError as error:
            raise CommandError(error.message) from None
        return f"loaded {rest}"

    def do_dialect(self, rest: str) -> str:
        """``:dialect [NAME]``"""
        if rest and rest not in DIALECTS:
            raise CommandError(f"there is no dialect '{rest}': choose {' or '.join(DIALECTS)}")
        self.dialect = rest or self.dialect
        return f"dialect: {self.dialect}"

    def do_ast(self, rest: str) -> str:
        """``:ast EXPR``"""
        from vetro.yaql.printer import to_call_form

        return to_call_form(parse(rest, grammar_of(named_dialect(self.dialect, grammar="standard"))))

    def do_vars(self, rest: str) -> str:
        """``:vars``"""
        return "\n".join(f"${n} = {self._show(v)}" for n, v in self.variables.items()) or "no variables yet"

    def _show(self, value: Any) -> str:
        return json_text(plain_data(value))


def _assignment(line: str) -> tuple[str | None, str]:
    """(variable, expression) of ``$name = expression``; (None, line) for anything else."""
    name, equals, rest = line.partition("=")
    target = name.strip()
    if equals and target[:1] == "$" and target[1:].isidentifier() and rest[:1] not in ("=", ">", "~"):
        return target[1:], rest
    return None, line


@click.command("repl")
@click.option("-d", "--data", "data_path", metavar="FILE", type=click.Path(), help="Data for '$' (JSON or YAML).")
@memory_option()
@click.option("--legacy", is_flag=True, help="The dialect of package format 1.0.")
def command(data_path: str | None, legacy: bool) -> None:
    """Evaluate YAQL expressions interactively; ':help' explains the rest.

    When standard input is no terminal, its lines are evaluated one by one without a prompt; the exit status is 1 when
    one of them failed.

    \b
    Examples:
      vetro repl --data servers.yaml
      echo '$.len()' | vetro repl -d servers.yaml
    """
    repl = Repl(DIALECTS[1] if legacy else DIALECTS[0], read_data(data_path) if data_path else None)
    interactive = sys.stdin.isatty()
    if interactive:
        _prepare_editing(repl)
        out.echo("Vetro YAQL. :help explains, :quit leaves.")
    failed = False
    while True:
        try:
            line = input(PROMPT if interactive else "")
            text = repl.execute(line)
            if text:
                out.echo(text)
        except (EOFError, Leave):
            break
        except KeyboardInterrupt:
            if not interactive:
                raise
            out.echo("")
        except UnicodeDecodeError:
            out.fail("standard input is no UTF-8 text")
        except Exception as error:
            failed = True
            _print_problem(error)
    if failed and not interactive:
        sys.exit(out.FAILED)


def _print_problem(error: Exception) -> None:
    if isinstance(error, CommandError):
        out.note(out.style("error: ", fg="red", bold=True) + str(error))
    elif is_expression_error(error):
        out.print_error(error, None)
    else:
        raise error


def _prepare_editing(repl: Repl) -> None:
    """History and completion of the line editor, where Python has one."""
    with contextlib.suppress(ImportError):

        def complete(text: str, state: int) -> str | None:
            found = repl.complete(text)
            return found[state] if state < len(found) else None

        readline.set_completer(complete)
        readline.set_completer_delims(" \t\n()[]{},.=<>+-*/")
        readline.parse_and_bind("tab: complete")
