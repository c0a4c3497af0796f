"""The stand-in on the real interpreter: stacks and networks are a real cloud's, servers only recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.examples.standin import StandIn
from vetro.clouds.interface import Owner, StackChange, StaleStack
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud


class Recorded(StandIn):
    """Keeps its cloud in ``directory``; plans are answered by the stand-in."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.cloud = StackCloud(directory, RecordDriver(directory))
        self.owner = Owner("project", "environment")
        self.register("stack.read", self._read)
        self.register("stack.push", self._push)
        self.register("stack.delete", self._delete)
        self.register("network", self._network)

    def servers(self) -> list[str]:
        """Names of all servers there are."""
        return sorted(server.name for server in self.cloud.servers(self.owner))

    def _read(self, args: Mapping[str, Any]) -> Any:
        found = self.cloud.read_stack(self.owner, args["region"] or "", args["name"])
        if found is None:
            return None
        return {
            "template": dict(found.template),
            "parameters": dict(found.parameters),
            "outputs": dict(found.outputs),
            "digest": found.digest,
        }

    def _push(self, args: Mapping[str, Any]) -> Any:
        change = StackChange(args["digest"], args["base"], args["put"], args["drop"])
        try:
            found = self.cloud.push_stack(self.owner, args["region"] or "", args["name"], change)
        except StaleStack:
            return {"stale": True}
        return {"outputs": dict(found.outputs), "gone": [], "whole": True}

    def _delete(self, args: Mapping[str, Any]) -> None:
        self.cloud.delete_stack(self.owner, args["region"] or "", args["name"])

    def _network(self, args: Mapping[str, Any]) -> Any:
        rest = {key: value for key, value in args.items() if key not in ("region", "query")}
        return self.cloud.network(self.owner, args["region"] or "", args["query"], rest)
