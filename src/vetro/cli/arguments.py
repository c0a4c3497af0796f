"""Options and files of several commands: which installation is meant, data, and ``NAME=VALUE``, whose value is YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vetro.cli import output as out
from vetro.cli.plaindata import DataError, load_data

F = TypeVar("F", bound=Callable[..., Any])


def settings_options(function: F) -> F:
    """``--data``, ``--config`` and ``--database``: which installation a command is about."""
    for option in (
        click.option("--database", metavar="URL", help="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME."),
        click.option("--config", "config", type=click.Path(dir_okay=False), metavar="FILE", help="File of settings."),
        click.option(
            "--data",
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Data directory [~/.local/share/vetro/server].",
        ),
    ):
        function = option(function)
    return function


def read_data(path: str) -> Any:
    """Data of a JSON or YAML file; ``-`` is standard input. Fails the command when it cannot be read."""
    try:
        return load_data(path)
    except DataError as error:
        out.fail(error.message, error.hint)


def named_values(pairs: tuple[str, ...], option: str) -> dict[str, Any]:
    """The values by name: ``count=3`` is a number, ``hosts=[a, b]`` a list.

    Raises `click.BadParameter` for what is malformed or given twice.
    """
    made: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"'{pair}' is not of the form NAME=VALUE", param_hint=option)
        if name in made:
            raise click.BadParameter(f"'{name}' is given twice", param_hint=option)
        made[name] = yaml_value(value)
    return made


def yaml_value(text: str) -> Any:
    """``text`` as YAML; where it is none, as it is."""
    from vetro.packages.yamltree import TreeError, plain, read_documents

    try:
        documents = read_documents(text, "<value>")
        return plain(documents[0]) if len(documents) == 1 else text or None
    except TreeError:
        return text
