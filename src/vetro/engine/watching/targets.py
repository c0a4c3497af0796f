"""What is watched: environments, their components, and the checks of these; made of what the worker says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from vetro.clouds.interface import Owner, ServerState
from vetro.data_classes import dataclass
from vetro.diagnostics import decode_messages
from vetro.engine.watching import probes
from vetro.engine.watching.states import ProbeState

#: Seconds between two looks at the servers of a cloud; without a good one for so long nobody knows how they are.
LOOK, STALE = 10.0, 30.0
#: Seconds between probes that nobody declared.
GUESS_EVERY = 30.0
#: Open ports of a component that are probed, and probes of an environment that there may be for that.
MOST_PORTS, MOST_PROBES = 8, 100


@dataclass(frozen=True, slots=True)
class Check:
    """A probe of one server, or what a task is asked about the object (``server`` is empty)."""

    key: str
    name: str
    server: str
    #: None: a task is asked, what `vetro.server.watch.prober` takes.
    probe: probes.Probe | None
    every: float
    grace: float
    declared: bool
    #: The only address that is asked, where it stands in the model itself.
    address: str = ""
    question: Mapping[str, Any] | None = None
    #: It follows from what the cloud tells of the server, and comes and goes with that.
    derived: bool = False


@dataclass(slots=True)
class Component:
    """One component as it is watched. ``servers``: id -> name."""

    id: str
    servers: dict[str, str]
    checks: dict[str, Check]
    results: dict[str, ProbeState]
    #: By key of a check: (state, reached, text), as it was told by who watched before.
    was: Mapping[str, tuple[str, bool, str]] = field(default_factory=dict)
    last: Any = None
    #: How many of its results are too old.
    overdue: int = 0


@dataclass(slots=True)
class Environment:
    """One environment as it is watched."""

    id: str
    number: int
    owner: Owner
    cloud: str
    since: float
    #: Servers that somebody stopped: id -> who.
    stopped: Mapping[str, str]
    components: list[Component]
    #: When its servers were looked at last; None: they never were. Whether that is too long ago.
    looked: float | None = None
    stale: bool = True
    servers: dict[str, ServerState] = field(default_factory=dict)
    open: int = 0
    gone: bool = False
    #: Why its cloud could not be asked.
    trouble: str = ""
    #: When a task is asked about it next, and until when an answer is waited for.
    ask_at: float = 0.0
    ask_until: float = 0.0


def read_environment(data: Mapping[str, Any], old: Environment | None) -> Environment:
    """An environment as the worker tells it (`vetro.server.watch.target_reader`). ``old``: as it was watched so far;
    what is known of it and holds on is taken over.
    """
    made = Environment(
        str(data["id"]),
        int(data["number"]),
        Owner(**data["owner"]),
        str(data["cloud"]),
        float(data["since"]),
        dict(data.get("stopped") or {}),
        [_component(item, old) for item in data["components"]],
    )
    if old is not None and old.cloud == made.cloud:
        made.looked, made.servers, made.trouble = old.looked, old.servers, old.trouble
        made.stale = old.stale
    return made


def _component(data: Mapping[str, Any], old: Environment | None) -> Component:
    known = next((c for c in old.components if c.id == data["id"]), None) if old is not None else None
    servers = {str(item["id"]): str(item["name"]) for item in data["servers"]}
    checks: dict[str, Check] = {}
    for check in (*_declared(data, servers), *_guessed(data, servers)):
        checks.setdefault(check.key, check)
    was = {
        key: (state, reached, str(decode_messages(told).get("text") or ""))
        for key, (state, reached, told) in (data.get("was") or {}).items()
    }
    results = {}
    for key, check in checks.items():
        same = known is not None and known.checks.get(key) == check
        told = was.get(key) or ()
        results[key] = known.results[key] if same and known is not None else ProbeState(check.declared, *told)
    if known is not None:
        was |= {key: (_state(result), result.reached, result.text) for key, result in known.results.items()}
    return Component(str(data["id"]), servers, checks, results, was)


def _state(result: ProbeState) -> str:
    finding = result.finding()
    return "" if finding is None else finding.state.value


def derive(environment: Environment) -> tuple[list[tuple[Component, Check]], list[Component]]:
    """Gives components of which nobody declared how they are the checks that follow from what the cloud tells of their
    servers, and takes away those that do not any more; what is new, and of which components something is gone.

    Whether agents run; and where no property names an address, TCP ports that are open to everybody.
    """
    fresh: list[tuple[Component, Check]] = []
    less: list[Component] = []
    known = [check for component in environment.components for check in component.checks.values()]
    left = MOST_PROBES - sum(check.probe is not None and not check.derived for check in known)
    for component in environment.components:
        if any(check.declared for check in component.checks.values()):
            continue
        old = {key: check for key, check in component.checks.items() if check.derived}
        wanted: dict[str, Check] = {}
        ports = 0 if len(old) < len(component.checks) else min(MOST_PORTS, left)
        for id, name in component.servers.items():
            seen = environment.servers.get(id)
            if seen is None or seen.status != "ACTIVE":  # what is known of it is known when it is back
                found = [check for check in old.values() if check.server == id]
            else:
                found = list(_derived(component, id, name, seen))
            for check in found:
                if check.probe is None or ports > 0:
                    ports -= check.probe is not None
                    wanted[check.key] = check
        left -= sum(check.probe is not None for check in wanted.values())
        if old.keys() - wanted.keys():
            less.append(component)
        for key in old.keys() - wanted.keys():
            del component.checks[key], component.results[key]
        for key, check in wanted.items():
            if key not in old:
                component.checks[key] = check
                component.results[key] = ProbeState(False, *component.was.get(key, ()))
                fresh.append((component, check))
    return fresh, less


def _derived(component: Component, id: str, name: str, seen: ServerState) -> Iterable[Check]:
    more = f" ({name})" if len(component.servers) > 1 else ""
    if seen.agent is not None:
        yield Check(f"agent/{id}", f"agent{more}", id, None, LOOK, 0.0, False, derived=True)
    for port in seen.ports if seen.reachable else ():
        probe = probes.Probe("tcp", port)
        yield Check(f"port/{port}/{id}", f"tcp {port}{more}", id, probe, GUESS_EVERY, 0.0, False, derived=True)


def _declared(data: Mapping[str, Any], servers: Mapping[str, str]) -> Iterable[Check]:
    for item in data.get("checks") or ():
        key, name, every, grace = f"{item['object']}/{item['name']}", str(item["name"]), item["every"], item["grace"]
        if item["kind"] == "method":
            question = {"kind": "method", "object": item["id"], "method": item["method"]}
            yield Check(f"{key}/", name, "", None, float(every), float(grace), True, question=question)
            continue
        on = [id for id in item["on"] if id in servers]
        if item["kind"] == "command":
            for id in on:
                own = name if len(on) == 1 else f"{name} ({servers[id]})"
                question = {"kind": "command", "server": item["machines"][id], "command": item["run"], "name": name}
                yield Check(f"{key}/{id}", own, id, None, float(every), float(grace), True, question=question)
            continue
        probe = probes.Probe(item["kind"], int(item["port"]), str(item["path"]), tuple(item["expect"]))
        for id in on:
            own = name if len(on) == 1 else f"{name} ({servers[id]})"
            yield Check(f"{key}/{id}", own, id, probe, float(every), float(grace), True)


def _guessed(data: Mapping[str, Any], servers: Mapping[str, str]) -> Iterable[Check]:
    """What is not said but can be seen: addresses of its own servers that stand in its properties."""
    for item in data.get("guesses") or ():
        if item["on"] in servers:
            probe = probes.Probe(item["kind"], int(item["port"]), str(item["path"]), strict=False)
            key = f"guess/{item['name']}/{item['on']}"
            yield Check(key, str(item["name"]), item["on"], probe, GUESS_EVERY, 0.0, False, str(item["address"]))
