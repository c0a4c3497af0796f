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


def classes(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of classes of the packages that stand on the command line."""
    return _of_packages("classes", ctx, incomplete)


def properties(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``NAME=`` for the properties that can be set, of the class that is meant."""
    return _of_packages("properties", ctx, incomplete)


def _of_packages(what: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with contextlib.suppress(Exception):
        from vetro.cli import package_completion  # reads packages: only shells ask for it

        found = getattr(package_completion, what)(ctx, incomplete)
        return [CompletionItem(name) for name in sorted(found) if name.startswith(incomplete)]
    return []


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
