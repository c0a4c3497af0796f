"""Clients for the context in force: of a server, or of this machine's workspace."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from vetro.cli.client.contexts import LOCAL, Context, chosen
from vetro.cli.client.requests import Client, NoServer, SignedOut, login_again

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from vetro.cli.client.local import LocalClient


def server(
    workspace: str | None = None, *, scratch: bool = False, tasks: bool = False
) -> AbstractContextManager[Client]:
    """Opens a client for the context in force. Raises `ContextError`.

    ``scratch``: nothing that is done in a workspace of this machine is to stay. ``tasks``: tasks will run in it.
    """
    context = chosen(workspace)
    if context is not None:
        return signed_in(context)
    return open_local(workspace, scratch=scratch, tasks=tasks)


def open_local(
    workspace: str | None, *, scratch: bool = False, tasks: bool = False
) -> AbstractContextManager[LocalClient]:
    """Opens a workspace of this machine; see `vetro.cli.client.local_workspace.open_local`."""
    from vetro.cli.client import local_workspace  # the service: commands about a server do not wait for it

    return local_workspace.open_local(workspace, scratch=scratch, tasks=tasks)


def is_local(client: Client) -> TypeIs[LocalClient]:
    """Whether this is no server but a workspace of this machine."""
    return client.local


def signed_in(context: Context, **options: Any) -> Client:
    """A client with the token of a context. Raises `SignedOut` where it has none."""
    if not context.token:
        raise SignedOut(f"you are not signed in at {context.url}", login_again(context))
    return Client(context, **options)


def need_server(what: str) -> Client:
    """A client for the context in force. Raises `NoServer` when that is this machine; ``what`` is on servers only."""
    context = chosen()
    if context is None:
        raise NoServer(
            f"{what}, and the present context is '{LOCAL}', the workspace of this machine",
            "vetro login URL adds a server; vetro context use NAME or --context NAME chooses one",
        )
    return signed_in(context)
