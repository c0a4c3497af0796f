"""What servers use, as Nova's diagnostics tell it to those whom the policy of the cloud allows to ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from vetro.clouds.interface import Conflict, ServerMetrics
from vetro_openstack.errors import CloudUnreachable, Refused
from vetro_openstack.link import Link

#: The version of Nova's API from which on all hypervisors tell the same.
_VERSION: Final = "compute 2.48"
#: Seconds for which nobody asks again where Nova refused: by default the policy allows it to administrators only.
_REFUSED: Final = 3600.0
#: Servers that are asked about in one round, and seconds that a round takes at most: each answer is asked of the
#: hypervisor of the server. Those that were asked about longest ago come first.
_MOST, _ROUND = 100, 20.0
#: Servers of which it is known when they were asked about.
_REMEMBERED: Final = 10_000


class Diagnostics:
    """Asks Nova. Used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: By project and region: until when nobody asks.
        self._refused: dict[tuple[str, str], float] = {}
        #: When a server was asked about, by its id.
        self._asked: dict[str, float] = {}

    def ask(self, wanted: Mapping[str, tuple[Sequence[Link], Collection[str]]]) -> dict[str, ServerMetrics]:
        """What servers use, by id: processors alone, as hypervisors do not see what of its memory and disks a server
        uses. ``wanted``: by project one link for each region, and ids of servers. Raises `CloudError`.

        What does not run, is gone or was not asked about in this round is missing; so is all while another thread asks.
        """
        if not self._lock.acquire(blocking=False):
            return {}
        try:
            return self._round(wanted)
        finally:
            self._lock.release()

    def _round(self, wanted: Mapping[str, tuple[Sequence[Link], Collection[str]]]) -> dict[str, ServerMetrics]:
        found: dict[str, ServerMetrics] = {}
        asked, end = 0, time.monotonic() + _ROUND
        servers = [(id, project, links) for project, (links, ids) in wanted.items() for id in ids]
        for id, project, links in sorted(servers, key=lambda one: self._asked.get(one[0], 0.0)):
            able = [link for link in links if self._allowed(link, project)]
            if not able:
                continue
            now = time.monotonic()
            if asked == _MOST or now > end:
                break
            self._asked[id] = now
            asked += 1
            try:
                told = next(filter(None, (self._one(link, project, id) for link in able)), None)
            except CloudUnreachable:  # perhaps its hypervisor alone: the next round begins after it
                if not found:
                    raise
                break
            if told is not None:
                found[id] = told
        if len(self._asked) > _REMEMBERED:
            known = {id for id, *_ in servers}
            self._asked = {id: when for id, when in self._asked.items() if id in known}
        return found

    def _allowed(self, link: Link, project: str) -> bool:
        return time.monotonic() >= self._refused.get((project, link.region), 0.0) and link.offers("compute")

    def _one(self, link: Link, project: str, server: str) -> ServerMetrics | None:
        path = f"/servers/{server}/diagnostics"
        try:
            answer = link.request("compute", "GET", path, again=False, version=_VERSION)
        except Conflict:  # it does not run
            return None
        except Refused:
            # The policy (403), an older Nova (406), a hypervisor that tells nothing (501): the next one would be no
            # other.
            self._refused[project, link.region] = time.monotonic() + _REFUSED
            return None
        return _metrics(answer) if isinstance(answer, Mapping) else None


def _metrics(answer: Mapping[str, Any]) -> ServerMetrics | None:
    times = [one.get("time") for one in answer.get("cpu_details") or () if isinstance(one, Mapping)]
    counted = [float(one) for one in times if isinstance(one, int | float)]
    return ServerMetrics(cpu_seconds=sum(counted) / 1e9) if counted else None
