"""`HostLink`: the worker's side of the effects host: what is under way there, and starting it again when it dies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.engine.effect_kinds import Policy
from vetro.engine.worker.journal import RecordedEffect, about
from vetro.engine.worker.ports import HostPort, HostUnavailable
from vetro.engine.worker.replay import EffectRequest
from vetro.engine.worker.stream import Stream

if TYPE_CHECKING:
    from vetro.engine.worker.state import WorkerState


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An effect that the host is performing."""

    request: EffectRequest
    begun: float
    #: Whether its intent is in the journal; the others only read.
    written: bool


class HostLink:
    """Outlives task processes: what the host performs goes on when one of them dies.

    The host is started with the first effect: many tasks ask for nothing outside.
    """

    def __init__(self, worker: WorkerState, host: HostPort) -> None:
        self._worker = worker
        self._host = host
        self._deaths = 0
        self._listening: dict[str, EffectRequest] = {}
        self.under_way: dict[str, UnderWay] = {}
        self.stream: Stream | None = None
        #: An effect that only a person can judge was under way when a host died.
        self.lost = False

    def open(self) -> None:
        """Starts the host unless it runs. Raises `HostUnavailable`."""
        if self.stream is None:
            self._host.start()
            self.stream = Stream(self._host.fileno())
            self.stream.send({"t": "begin", "expect": self._expected()})

    def _expected(self) -> list[str]:
        """Ids of the plans whose results somebody will ask for: they are not dropped as unknown."""
        found = [e.about.get("id") for e in self._worker.journal.entries() if e.open and e.kind == "agent.call"]
        return [id for id in found if isinstance(id, str)]

    def perform(self, request: EffectRequest, begun: float, *, adopt: bool, written: bool) -> None:
        """Lets the host perform an effect. Raises `HostUnavailable`."""
        self.open()
        self.under_way[request.key] = UnderWay(request, begun, written)
        self._send_perform(request, begun, adopt)

    def _send_perform(self, request: EffectRequest, begun: float, adopt: bool) -> None:
        assert self.stream is not None
        self.stream.send(
            {
                "t": "perform",
                "key": request.key,
                "kind": request.kind,
                "args": dict(request.args),
                "adopt": adopt,
                "begun": begun,
            }
        )

    def listen(self, request: EffectRequest) -> None:
        """Hands an effect over that nobody waits for and that each new host has to know. Raises `HostUnavailable`."""
        self.open()
        self._listening[str(request.args.get("queue"))] = request
        self._send_perform(request, 0.0, False)

    def stored(self, key: str) -> None:
        """The result of an effect is durable."""
        if self.stream is not None:
            self.stream.send({"t": "stored", "key": key})

    def abandon(self) -> None:
        """Nobody waits for anything any more."""
        for key in self.under_way:
            if self.stream is not None:
                self.stream.send({"t": "abandon", "key": key})

    def receive(self) -> list[Mapping[str, Any]]:
        """What the host says."""
        return [] if self.stream is None else list(self.stream.receive())

    @property
    def gone(self) -> bool:
        """Whether the host has ended."""
        return self.stream is not None and self.stream.closed

    def revive(self) -> None:
        """A host that has gone is started again and told everything that is open. Take what it said first.

        Raises `HostUnavailable` when that happened too often.
        """
        if self.stream is None or not self.gone:
            return
        failure = self.stream.failure
        self._drop()
        self._deaths += 1
        if self._deaths > self._worker.limits.host_deaths:
            raise HostUnavailable(f"the effects host died {self._deaths} times" + (f": {failure}" if failure else ""))
        self.open()
        self._worker.events({"event": "restarted", "what": "host", "reason": failure or "it has gone"})
        for request in self._listening.values():
            self._send_perform(request, 0.0, False)
        for item in self.under_way.values():
            if self._worker.policies(item.request.kind) is Policy.UNSAFE:
                self.lost = True
            else:
                self._send_perform(item.request, item.begun, True)

    def result(
        self, key: str, answer: Any, error: Mapping[str, Any] | None, at: float
    ) -> tuple[RecordedEffect, bool] | None:
        """The effect ended: its journal entry without place, and whether its intent is written already."""
        item = self.under_way.pop(key, None)
        if item is None:
            return None
        request = item.request
        entry = RecordedEffect(
            *(key, request.kind, request.digest, about(request.args), item.begun, None),
            answer=answer,
            error=error,
            ended=at,
        )
        return entry, item.written

    def _drop(self) -> None:
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def close(self, *, at_once: bool = False) -> None:
        """Ends the host; ``at_once``: whatever it is doing, somebody else does it now."""
        self._drop()
        if at_once:
            self._host.kill()
        self._host.stop()
