"""What the shell completes: names of environments and packages. Quick, and silent whatever is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import click

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
