"""`vetro eval`: one YAQL expression over a data file."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out


@click.command("eval")
@click.argument("expression", metavar="EXPR")
@click.option("--data", "data_path", metavar="FILE", help="Data for '$' (JSON or YAML); '-' reads standard input.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Variable for the expression; the value is YAML. Repeatable.")
@click.option("--legacy", is_flag=True, help="The dialect of package formats 1.0 and 1.1.")
@out.output_option("json", "yaml")
def command(expression: str, data_path: str | None, variables: tuple[str, ...], legacy: bool, output: str) -> None:
    """Evaluate one YAQL expression.

    \b
    Examples:
      vetro eval '1 + 2'
      vetro eval '$.servers.where($.port > 1024).name' --data servers.yaml
      vetro eval '$x * 2' --var x=21
    """
    from vetro.cli.run import _arguments
    from vetro.yaql import compile as compile_expression

    given = _arguments(variables)
    data: Any = out.read_data(data_path) if data_path is not None else None
    try:
        with out.explained():
            made = compile_expression(expression, dialect="legacy" if legacy else "standard")
            result = made(data, **given)
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, AssertionError) as error:
        text = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
        out.fail(f"{type(error).__name__}: {text}")
    if isinstance(result, (set, frozenset)):
        result = list(result)
    out.print_data(result, output)
