"""What servers used in the last hour: a row an environment, written seldom, and read.

The watcher's process measures once a minute; what it tells waits in the worker for its turn (`Pending`), so that the
database gets a few rows a second however many environments there are. A worker that dies loses what waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import QuerySet

from vetro.diagnostics import Text
from vetro.server.environments.models import Environment
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.tasks import clock
from vetro.server.watch import targets
from vetro.server.watch.models import MetricSamples

#: Seconds of samples that are kept, and how many of a server.
HOUR: Final = 3600
MOST: Final = 70
#: Rows of one turn, and seconds between two turns.
ROWS, TURN = 3, 1.0
#: Servers of one environment.
_SERVERS = 2000

#: [time, processors, memory, its limit, disk]
Sample = Sequence[float | None]


class Pending:
    """What was measured and is not written yet, of environments in the order in which they came."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, list[Sample]]] = {}

    def add(self, environment_id: str, at: int, servers: Mapping[str, Sequence[float | None]]) -> None:
        """Takes one measurement."""
        mine = self._found.setdefault(environment_id, {})
        for id, values in servers.items():
            if id in mine or len(mine) < _SERVERS:
                mine.setdefault(id, []).append([at, *values])
                del mine[id][:-MOST]

    def drop(self, environment_ids: Sequence[str]) -> None:
        """Nobody wants to know of these any more."""
        for id in environment_ids:
            self._found.pop(id, None)

    def write(self) -> int:
        """Writes those that have waited longest, in one statement; how many. What the database refuses is dropped."""
        turn = {id: self._found.pop(id) for id in list(self._found)[:ROWS]}
        if not turn:
            return 0
        now = clock.read()
        rows = []
        for id in Environment.objects.filter(id__in=list(turn)).order_by().values_list("id", flat=True):
            try:
                kept = _kept(id)
            except KeysUnusable:  # what nobody can read any more is written anew
                kept = {}
            samples = _merged(kept, turn[id], int(now.timestamp()) - HOUR)
            rows.append(MetricSamples(environment_id=id, at=now, samples=samples))
        # Without reading them once more.
        MetricSamples.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["environment"], update_fields=["at", "samples"]
        )
        return len(turn)


def of_environment(environment_id: str) -> dict[str, list[Sample]]:
    """Samples of the last hour by id of the server, the oldest first."""
    return _merged(_kept(environment_id), {}, int(clock.read().timestamp()) - HOUR)


def _kept(environment_id: str) -> Mapping[str, list[Any]]:
    row = MetricSamples.objects.filter(environment_id=environment_id).first()
    return {} if row is None else row.samples


def shown(environment_id: str, model: Mapping[str, Any], simulated: bool) -> dict[str, Any]:
    """{reason, servers: [{id, name, component_id, samples: [{at, processors, memory, memory_limit, disk}]}]}.

    ``reason``: why there are no samples; None where there are some.
    """
    found = {} if simulated else of_environment(environment_id)
    measured = () if simulated else targets.components(model, lambda classes: {})
    servers = [
        {
            "id": id,
            "name": name,
            "component_id": component.id,
            "samples": [_sample(one) for one in found.get(id, ())],
        }
        for component in measured
        for id, name in component.servers.items()
    ]
    reason = None
    if simulated:
        reason = Text("nothing of it exists, so nothing is used")
    elif not any(one["samples"] for one in servers):
        reason = Text(
            "nothing was measured in the last hour: nobody looks, its cloud does not tell, or it does not run"
        )
    return {"reason": reason, "servers": servers}


def _sample(one: Sample) -> dict[str, Any]:
    at, processors, memory, limit, disk = one
    assert at is not None
    return {
        "at": datetime.fromtimestamp(at, UTC),
        "processors": processors,
        "memory": memory,
        "memory_limit": limit,
        "disk": disk,
    }


def newest(most: int) -> list[tuple[str, str, str, Sample]]:
    """Project, environment, server and newest sample of the servers that were measured last, so many at most."""
    since = clock.after(-HOUR / 6)
    found: list[tuple[str, str, str, Sample]] = []
    rows = MetricSamples.objects.filter(at__gte=since).select_related("environment").order_by("-at")[:most]
    for row in _readable(rows):
        for id, samples in row.samples.items():
            if len(found) == most:
                return found
            found.append((row.environment.project_id, row.environment_id, id, samples[-1]))
    return found


def _readable(rows: QuerySet[MetricSamples]) -> Iterator[MetricSamples]:
    """The rows that a key opens: one that none opens keeps the others from nobody."""
    try:
        yield from list(rows)
    except KeysUnusable:
        for row in rows.defer("samples"):
            try:
                row.refresh_from_db(fields=["samples"])
            except KeysUnusable:
                continue
            yield row


def forget(before: datetime) -> int:
    """Drops rows that nobody has written since."""
    return MetricSamples.objects.filter(at__lt=before).delete()[0]


def _merged(kept: Mapping[str, list[Any]], new: Mapping[str, list[Any]], since: int) -> dict[str, list[Sample]]:
    found = {}
    for id in {*kept, *new}:
        samples = [one for one in (*kept.get(id, ()), *new.get(id, ())) if one[0] >= since][-MOST:]
        if samples:
            found[id] = samples
    return found
