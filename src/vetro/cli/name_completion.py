"""What the shell completes: environments, packages, classes, properties. Quick, and silent whatever is wrong."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

#: Seconds that a server has to answer.
QUICK = 1.0
#: Names that are shown.
MOST = 100
#: What people give values to.
_SETTABLE = ("In", "InOut", "Const")

Ask = Callable[[Any, str], Iterable[str]]


def environments(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of environments."""

    def ask(client: Any, text: str) -> Iterable[str]:
        return [row["name"] for row in client.items("/environments", search=text, most=MOST)]

    return _found(ctx, incomplete, ask, local=True)


def packages(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Full names of packages of a server."""

    def ask(client: Any, text: str) -> Iterable[str]:
        return [row["fqn"] for row in client.items("/packages", limit=MOST, most=MOST, sort="fqn")]

    return _found(ctx, incomplete, ask)


def sources(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Paths, and full names of packages of a server, which 'vetro deploy' takes as well."""
    named = [] if os.sep in incomplete else packages(ctx, parameter, incomplete)
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, named)]


def classes(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of classes of the packages that stand on the command line."""
    with contextlib.suppress(Exception):
        names = {name for package in _packages(ctx) for name in package.classes}
        return sorted(name for name in names if name.startswith(incomplete))
    return []


def properties(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``NAME=`` for the properties that can be set, of the class that is meant."""
    with contextlib.suppress(Exception):
        if "=" in incomplete:
            return []
        known = _packages(ctx)
        wanted = ctx.params.get("wanted")
        found = {f"{name}=" for name in _properties(known, [str(wanted)] if wanted else _applications(known))}
        found = {name for name in found if name.startswith(incomplete)}
        return [CompletionItem(name) for name in sorted(found)]
    return []


def _packages(ctx: click.Context) -> list[Any]:
    from vetro.packages import load_path

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
    from vetro import muranopl
    from vetro.cli.compile_cache import code_cache
    from vetro.cli.package_paths import extended
    from vetro.muranopl.tools.inspect import inspect_class

    everything, extensions = extended(known)
    session = muranopl.Engine(everything, natives=extensions.natives, code_cache=code_cache(known)).session()
    return [one.name for name in names for one in inspect_class(session, name).properties if one.usage in _SETTABLE]


def _found(ctx: click.Context, incomplete: str, ask: Ask, *, local: bool = False) -> list[str]:
    """``local``: workspaces of this machine have it, too."""
    with contextlib.suppress(Exception):  # a message in the middle of a line that is being typed helps nobody
        from vetro.cli.client import connect, contexts

        workspace = ctx.params.get("workspace")
        context = contexts.chosen(workspace)
        if context is None and not local:
            return []
        quick = {"timeout": QUICK, "connect": QUICK, "again": False}
        with connect.server(workspace) if context is None else connect.signed_in(context, **quick) as client:
            found = list(ask(client, incomplete))
        return sorted({name for name in found if name.startswith(incomplete)})
    return []
