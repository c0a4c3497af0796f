"""``NAME=VALUE`` options: the value is YAML, so ``count=3`` is a number and ``hosts=[a, b]`` a list."""

from __future__ import annotations

from typing import Any

import click


def named_values(pairs: tuple[str, ...], option: str) -> dict[str, Any]:
    """The values by name. Raises `click.BadParameter` for what is malformed or given twice."""
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
