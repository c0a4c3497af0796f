"""Options and files of several commands: which installation is meant, data, and ``NAME=VALUE``.

A value is YAML, the text of a file, or asked for: whatever stands on a command line can be read by others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from vetro.cli import output as out
from vetro.cli.plaindata import DataError, load_data, read_bytes

F = TypeVar("F", bound=Callable[..., Any])
#: Characters of a secret that is one line.
_LONGEST: Final = 4096


def settings_options(function: F) -> F:
    """``--data``, ``--config`` and ``--database``: which installation a command is about."""
    for option in (
        click.option("--database", metavar="URL", help="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME."),
        click.option("--config", "config", type=click.Path(dir_okay=False), metavar="FILE", help="File of settings."),
        click.option(
            "--data",
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Data directory [$VETRO_DATA, else ~/.local/share/vetro/server].",
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


def named_values(pairs: tuple[str, ...], option: str, secrets: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values by name: ``count=3`` is a number, ``hosts=[a, b]`` a list, ``key=@FILE`` the text of a file.

    ``secrets`` are names whose values are asked for. Raises `click.BadParameter` for what is malformed or given twice.
    """
    made: dict[str, Any] = {}
    for pair, asked in _given(pairs, secrets):
        name, equals, text = (pair, "=", "") if asked else pair.partition("=")
        option = "--secret" if asked else option
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"'{pair}' is not of the form NAME{'' if asked else '=VALUE'}", param_hint=option)
        if name in made:
            raise click.BadParameter(f"'{name}' is given twice", param_hint=option)
        made[name] = secret_line(name) if asked else value_of(text)
    return made


def values_at_paths(
    given: Mapping[str, Any], pairs: tuple[str, ...], secrets: tuple[str, ...], *, texts: bool = False
) -> dict[str, Any]:
    """``given`` with these values: ``a.b=1`` puts 1 as ``b`` inside of ``a``; ``secrets`` are paths to be asked for.

    ``texts``: values are texts as they are typed, unless they look like lists or mappings. Raises
    `click.BadParameter`.
    """
    made = dict(given)
    for pair, asked in _given(pairs, secrets):
        path, equals, text = (pair, "=", "") if asked else pair.partition("=")
        steps = path.split(".")
        if not equals or not all(steps):
            form, option = ("NAME", "--secret") if asked else ("NAME=VALUE", "--set")
            raise click.BadParameter(f"'{pair}' is not of the form {form}", param_hint=option)
        target = made
        for step in steps[:-1]:
            inner = target.get(step)
            target[step] = dict(inner) if isinstance(inner, Mapping) else {}
            target = target[step]
        target[steps[-1]] = secret_line(path) if asked else value_of(text, typed=texts)
    return made


def _given(pairs: tuple[str, ...], secrets: tuple[str, ...]) -> list[tuple[str, bool]]:
    """And whether they are asked for."""
    return [*((pair, False) for pair in pairs), *((name, True) for name in secrets)]


def value_of(text: str, *, typed: bool = False) -> Any:
    """What stands for a value on the command line: ``@FILE`` is the text of a file (`text_of`), anything else YAML.

    ``@@`` begins a text with one ``@``. ``typed``: a text is itself, unless it looks like a list or a mapping.
    """
    if text.startswith("@"):
        return text[1:] if text.startswith("@@") else text_of(text[1:])
    return text if typed and text[:1] not in ("[", "{") else yaml_value(text)


def text_of(path: str) -> str:
    """The text of a file, ``-``: of standard input, without the line break at its end. Fails the command where there
    is none."""
    name = "standard input" if path == "-" else path
    try:
        content = content_of(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        out.fail(f"{name} is no UTF-8 text", "an action takes any file with --file NAME=PATH")
    if path == "-" and not content:
        out.fail("standard input is empty", "it can be read once only")
    return content.removesuffix("\n").removesuffix("\r")


def content_of(path: str) -> bytes:
    """What a file, ``-``: standard input, holds. Fails the command when it cannot be read."""
    try:
        return read_bytes(path)
    except DataError as error:
        out.fail(error.message, error.hint or f"a text that begins with @ is written @@{path}")


def secret_line(label: str) -> str:
    """One line of standard input; at a terminal it is asked for and not shown. It is nowhere where others see it."""
    if sys.stdin.isatty():
        text = str(click.prompt(label, hide_input=True, err=True))
    else:
        text = sys.stdin.readline(_LONGEST).strip("\r\n")
    if not text.strip():
        out.fail(f"'{label}' is empty", "write it to standard input, in one line")
    return text


def secret_option(function: F) -> F:
    """``--secret``: values that others do not see in lists of processes."""
    return click.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="NAME",
        help="A value that is asked for and not shown; without a terminal a line of standard input. Repeatable.",
    )(function)


def yaml_value(text: str) -> Any:
    """``text`` as YAML; where it is none, as it is."""
    from vetro.packages.yamltree import TreeError, plain, read_documents

    try:
        documents = read_documents(text, "<value>")
        return plain(documents[0]) if len(documents) == 1 else text or None
    except TreeError:
        return text
