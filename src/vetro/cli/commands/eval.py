"""`vetro eval`: one YAQL expression over a data file."""

from __future__ import annotations

import sys
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import named_values, read_data
from vetro.cli.commands.memory import memory_option
from vetro.cli.plaindata import plain_data
from vetro.yaql.errors import HOST_KINDS, Stop, VetroError


@click.command("eval")
@click.argument("expression", metavar="EXPR")
@click.option(
    "-d",
    "--data",
    "data_path",
    metavar="FILE",
    type=click.Path(),
    help="Data for '$' (JSON or YAML); '-' reads standard input.",
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Variable for the expression; the value is YAML. Repeatable.",
)
@click.option("--legacy", is_flag=True, help="The dialect of package format 1.0.")
@click.option("--raw", "-r", is_flag=True, help="Print text without quotes, and a list of text one item a line.")
@memory_option()
@out.output_option("json", "yaml")
def command(
    expression: str, data_path: str | None, variables: tuple[str, ...], legacy: bool, raw: bool, output: str
) -> None:
    """Evaluate one YAQL expression and print its value.

    \b
    Examples:
      vetro eval '1 + 2'
      vetro eval '$.servers.where($.port > 1024).name' --data servers.yaml
      vetro eval '$x * 2' --var x=21
      vetro eval -r '$.keys().orderBy($)' -d config.json
    """
    given = named_values(variables, "--var")
    data: Any = read_data(data_path) if data_path is not None else None
    with expression_errors():
        from vetro.yaql import compile as compile_expression

        value = compile_expression(expression, dialect="legacy" if legacy else "standard", grammar="standard")(
            data, **given
        )
        result = plain_data(value)
    if raw and isinstance(result, str):
        out.echo(result, raw=True)
    elif raw and isinstance(result, list) and all(isinstance(item, str) for item in result):
        for item in result:
            out.echo(item, raw=True)
    else:
        out.print_data(result, output)


class expression_errors:
    """Context manager: an error of the expression is drawn and ends the command with status 1."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not isinstance(error, MemoryError) and is_expression_error(error):
            out.print_error(error, None)
            sys.exit(out.FAILED)


def is_expression_error(error: BaseException) -> bool:
    """Whether an exception says something about the expression: ours, or what library functions raise."""
    return isinstance(error, (VetroError, Stop, *HOST_KINDS))
