"""Effects ``snapshot.*``: the environment as a whole, kept and brought back. Never for tasks that run packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from vetro.clouds.drivers.values import Id, ValueInvalid
from vetro.clouds.interface import Cloud, NotAvailable, Owner, Snapshots
from vetro.clouds.messages import Channel, PurgedChannel
from vetro.engine.host.answer import BadRequest, Handler, Request

#: Does work of a request again that met another operation of the cloud.
Patiently = Callable[[Request, Callable[[], Any]], Any]


class SnapshotEffects:
    """``allowed``: whether the task may ask for them (setting ``snapshots`` of the host)."""

    def __init__(self, cloud: Cloud, channel: Channel, owner: Owner, patiently: Patiently, *, allowed: bool) -> None:
        self._cloud = cloud
        self._channel = channel
        self._owner = owner
        self._patiently = patiently
        self._allowed = allowed

    def handlers(self) -> dict[str, Handler]:
        """Kind to handler."""
        return {"snapshot.make": self.make, "snapshot.restore": self.restore, "snapshot.drop": self.drop}

    def make(self, request: Request) -> list[dict[str, Any]]:
        """``snapshot.make``."""
        cloud, name = self._asked(request)
        still = request.args.get("still") is True
        held = self._patiently(request, lambda: cloud.snapshot(self._owner, name, still))
        return [asdict(one) for one in held]

    def restore(self, request: Request) -> None:
        """``snapshot.restore``. Whatever waits in queues belongs to what was undone."""
        cloud, name = self._asked(request)
        self._patiently(request, lambda: cloud.restore(self._owner, name))
        if isinstance(self._channel, PurgedChannel):
            self._channel.purge()

    def drop(self, request: Request) -> None:
        """``snapshot.drop``."""
        cloud, name = self._asked(request)
        self._patiently(request, lambda: cloud.drop(self._owner, name))

    def _asked(self, request: Request) -> tuple[Snapshots, str]:
        if not self._allowed:
            raise BadRequest(f"this task may not ask for effects of kind '{request.kind}'")
        try:
            name = Id(request.text("name"))
        except ValueInvalid as error:
            raise BadRequest(f"argument 'name' of effect '{request.kind}': {error.message}") from None
        if not isinstance(self._cloud, Snapshots):
            raise NotAvailable(f"environments of this cloud ({self._cloud.name}) cannot be brought back as they were")
        return self._cloud, name
