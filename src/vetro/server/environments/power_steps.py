"""Which servers of an environment are started and stopped, and in which order: read from its model, as it is deployed.

Who refers to another component uses it: it is started after that one and stopped before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from vetro.clouds.interface import PowerAction
from vetro.data_classes import dataclass
from vetro.model.environment import applications_of
from vetro.model.header import id_of, label_of
from vetro.model.tree import by_id, objects, references

#: Characters of the id of a server.
LONGEST = 255
#: What a task does with servers, one after the other: {action, servers: [{id, name, component}]}.
Steps = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Machine:
    """A server: its id in the cloud, its name, the id of the component that has it, and how that is called."""

    id: str
    name: str
    component: str
    label: str


def server_of(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    """Id in the cloud and name of a server; None for other objects. Instances of all classes have these properties."""
    id = obj.get("openstackId")
    if isinstance(id, str) and 0 < len(id) <= LONGEST and id.isprintable() and "flavor" in obj and "ipAddresses" in obj:
        return id, str(obj.get("name") or id)
    return None


def machines(root: Mapping[str, Any] | None) -> list[list[Machine]]:
    """The servers of what is deployed, those first that others need. Of a circle the first component is first."""
    applications = [item for item in applications_of(root) if id_of(item) is not None]
    home = {id: str(id_of(item)) for item in applications for id in by_id(item)}
    needs: dict[str, set[str]] = {}
    own: dict[str, list[Machine]] = {}
    for item in applications:
        id = str(id_of(item))
        parts = list(objects(item))
        values = [value for obj in parts for key, value in obj.items() if key != "?"]
        needs[id] = {home[name] for value in values for name in references(value, home)} - {id}
        servers = dict(found for obj in parts if (found := server_of(obj)) is not None)
        own[id] = [Machine(server, name, id, label_of(item)) for server, name in servers.items()]
    waves = ([machine for id in wave for machine in own[id]] for wave in _waves(needs))
    return [wave for wave in waves if wave]


def _waves(needs: Mapping[str, set[str]]) -> list[list[str]]:
    """Ids, those first that others need. Each need is looked at twice: tenants write them, and pages wait for this."""
    users: dict[str, list[str]] = {id: [] for id in needs}
    for id, wanted in needs.items():
        for other in wanted:
            users[other].append(id)
    missing = {id: len(wanted) for id, wanted in needs.items()}
    waves: list[list[str]] = []
    rest = iter(needs)
    ready = [id for id in needs if not missing[id]]
    while ready or (ready := list(islice((id for id in rest if id in missing), 1))):  # the first one of a circle
        waves.append(ready)
        for id in ready:
            del missing[id]
        ready = []
        for id in waves[-1]:
            for user in users[id]:
                if user in missing:
                    missing[user] -= 1
                    if not missing[user]:
                        ready.append(user)
    place = {id: number for number, id in enumerate(needs)}
    return [sorted(wave, key=place.__getitem__) for wave in waves]


def steps(waves: Sequence[Sequence[Machine]], action: PowerAction, wanted: Collection[str]) -> Steps:
    """What is done with these servers (ids)."""
    chosen = [found for wave in waves if (found := [machine for machine in wave if machine.id in wanted])]
    if action == "restart" and len(chosen) > 1:  # whoever uses what is restarted does not run meanwhile
        return [*steps(waves, "stop", wanted), *steps(waves, "start", wanted)]
    return [
        {"action": action, "servers": [{"id": m.id, "name": m.name, "component": m.component} for m in wave]}
        for wave in (reversed(chosen) if action == "stop" else chosen)
    ]
