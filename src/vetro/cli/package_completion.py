"""What the shell completes from packages that stand on the command line: classes, properties."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import click

from vetro import muranopl
from vetro.cli.compile_cache import code_cache
from vetro.cli.package_paths import extended
from vetro.muranopl.tools.inspect import inspect_class
from vetro.packages import load_path

#: What people give values to.
_SETTABLE = ("In", "InOut", "Const")


def classes(ctx: click.Context, incomplete: str) -> set[str]:
    """Names of their classes."""
    return {name for package in _packages(ctx) for name in package.classes}


def properties(ctx: click.Context, incomplete: str) -> set[str]:
    """``NAME=`` for the properties that can be set, of the class that ``--class`` names or that may be meant."""
    if "=" in incomplete:
        return set()
    known = _packages(ctx)
    wanted = ctx.params.get("wanted")
    return {f"{name}=" for name in _properties(known, [str(wanted)] if wanted else _applications(known))}


def _packages(ctx: click.Context) -> list[Any]:
    # click leaves arguments where they are as long as the last option has no value.
    given = [*(ctx.params.get(name) or () for name in ("paths", "path", "targets", "others")), ctx.args]
    paths = [path for value in given for path in ((value,) if isinstance(value, str) else value)]
    return [package for path in paths if os.path.exists(path) for package in load_path(path)]


def _applications(known: Iterable[Any]) -> list[str]:
    """The classes that may be meant where none is named: those that are called as their package, or else all."""
    names = {name: package.name for package in known for name in package.classes}
    return [name for name, package in names.items() if name == package] or list(names)


def _properties(known: list[Any], names: Iterable[str]) -> list[str]:
    """Names of the properties of classes that can be set, inherited ones, too."""
    everything, extensions = extended(known)
    session = muranopl.Engine(everything, natives=extensions.natives, code_cache=code_cache(known)).session()
    return [one.name for name in names for one in inspect_class(session, name).properties if one.usage in _SETTABLE]
