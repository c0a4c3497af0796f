"""`vetro repl`: try out expressions."""

from __future__ import annotations

import sys
from typing import Any

import click

from vetro.cli import loading
from vetro.cli import output as out

HELP = """\
expression         evaluate it; '$' is the data, or the last result
$name = expression keep a result in a variable
:load FILE         read data (JSON or YAML) into '$'
:dialect NAME      'standard' or 'legacy'
:ast EXPR          show how an expression is parsed
:vars              list variables
:quit              leave (Ctrl-D does, too)"""


class Repl:
    """State of one session: data, variables, dialect."""

    def __init__(self, dialect: str, data: Any) -> None:
        self.dialect = dialect
        self.data = data
        self.variables: dict[str, Any] = {}

    def execute(self, line: str) -> str | None:
        """Text to print for one line of input; None to leave. Raises what expressions raise."""
        line = line.strip()
        if not line:
            return ""
        if line in (":quit", ":q", ":exit"):
            return None
        if line.startswith(":") and line[1:].split(" ")[0] in ("help", "load", "dialect", "ast", "vars"):
            return self._command(line[1:])
        name, equals, rest = line.partition("=")
        target = name.strip()
        assigns = equals and target.startswith("$") and target[1:].isidentifier() and not rest.startswith((">", "~", "="))
        value = self._evaluate(rest if assigns else line)
        if assigns:
            self.variables[target[1:]] = value
        return self._show(value)

    def _evaluate(self, text: str) -> Any:
        from vetro.yaql import compile as compile_expression

        return compile_expression(text, dialect=self.dialect)(self.data, **self.variables)

    def _command(self, text: str) -> str:
        word, _, rest = text.partition(" ")
        rest = rest.strip()
        if word == "load":
            self.data = out.read_data(rest)
            return "loaded"
        if word == "dialect":
            if rest not in ("standard", "legacy"):
                return "dialects are: standard, legacy"
            self.dialect = rest
            return f"dialect is now {rest}"
        if word == "ast":
            from vetro.yaql.parser import LEGACY, STANDARD, parse
            from vetro.yaql.printer import to_call_form

            return to_call_form(parse(rest, LEGACY if self.dialect == "legacy" else STANDARD))
        if word == "vars":
            return "\n".join(f"${n} = {self._show(v)}" for n, v in self.variables.items()) or "no variables yet"
        return HELP

    def _show(self, value: Any) -> str:
        import json

        if isinstance(value, (set, frozenset)):
            value = sorted(value, key=repr)
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@click.command("repl")
@click.option("--data", "data_path", metavar="FILE", help="Data for '$' (JSON or YAML).")
@click.option("--legacy", is_flag=True, help="The dialect of package formats 1.0 and 1.1.")
def command(data_path: str | None, legacy: bool) -> None:
    """Evaluate YAQL expressions interactively. ':help' explains the rest."""
    from vetro.yaql.errors import VetroError

    repl = Repl("legacy" if legacy else "standard", out.read_data(data_path) if data_path else None)
    interactive = sys.stdin.isatty()
    if interactive:
        try:
            import readline  # noqa: F401 - gives input() history and editing
        except ImportError:
            pass
        click.echo("Vetro YAQL. :help explains, :quit leaves.")
    failed = False
    while True:
        try:
            line = input("yaql> " if interactive else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            click.echo()
            continue
        try:
            text = repl.execute(line)
        except VetroError as error:
            out.stderr().print(f"{type(error).__name__}: {error.message}", style="red", markup=False)
            if error.hint:
                out.stderr().print(f"hint: {error.hint}", markup=False)
            failed = True
            continue
        except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, AssertionError) as error:
            out.stderr().print(f"{type(error).__name__}: {error}", style="red", markup=False)
            failed = True
            continue
        if text is None:
            break
        if text:
            click.echo(text)
    if failed and not interactive:
        sys.exit(out.FAILED)


__all__ = ["Repl", "command", "loading"]
