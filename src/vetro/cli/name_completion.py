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

    def local(text: str) -> Iterable[str]:
        from vetro.engine.workspace import Workspace

        return list(Workspace(ctx.params.get("workspace")).names())

    return _found(ctx, incomplete, ask, local)


def packages(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Full names of packages of a server."""

    def ask(client: Any, text: str) -> Iterable[str]:
        return [row["fqn"] for row in client.items("/packages", limit=MOST, most=MOST, sort="fqn")]

    return _found(ctx, incomplete, ask, lambda text: ())


def _found(ctx: click.Context, incomplete: str, ask: Ask, local: Callable[[str], Iterable[str]]) -> list[str]:
    with contextlib.suppress(Exception):  # a message in the middle of a line that is being typed helps nobody
        from vetro.cli.client.contexts import chosen
        from vetro.cli.client.requests import signed_in

        context = chosen(ctx.params.get("workspace"))
        if context is None:
            found = local(incomplete)
        else:
            with signed_in(context, timeout=QUICK, connect=QUICK, again=False) as client:
                found = list(ask(client, incomplete))
        return sorted({name for name in found if name.startswith(incomplete)})
    return []
