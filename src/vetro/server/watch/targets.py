"""What of an environment is watched: its components, their servers and checks, as `vetro.engine.watching` takes them.

Everything is read from the model as it is deployed. What authors declared comes from their classes, by a process behind
the walls of tasks: nothing of a package is evaluated here. Values of a model are a tenant's: the watcher asks only
servers that the cloud calls this environment's own, at addresses that the cloud handed out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from ipaddress import ip_address
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from vetro.data_classes import dataclass
from vetro.engine.watching.inventory import LONGEST, plain_text
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, label_of, type_of
from vetro.model.secrets import SecretNames, sounds_secret
from vetro.model.tree import by_id, objects, references
from vetro.server.environments.power_steps import server_of

#: Most probes of one environment, declared or guessed: a check of three servers is three. Most checks that are
#: declared for one component, most guesses.
MOST_CHECKS, MOST_OF_ONE, MOST_GUESSES = 100, 20, 8
#: Most components of one environment, servers of a component, and of all.
MOST_COMPONENTS, MOST_SERVERS, MOST_ALL_SERVERS = 1000, 200, 2000
_URL = re.compile(r"https?://[^\s\"'<>]{1,500}|(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}|\[[0-9A-Fa-f:.]{2,45}\]:\d{1,5}")

#: Class, as headers name it -> what it declares: {health: [{property: value}], methods: [{name, every}]}
#: (`Performance.lifecycle`).
Declared = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Component:
    """A component that can be watched. ``servers``: id in the cloud -> name."""

    id: str
    name: str
    servers: Mapping[str, str]
    checks: tuple[Mapping[str, Any], ...]
    #: Places that nobody declared: {name, kind, address, port, path, on: the server that has the address}.
    guesses: tuple[Mapping[str, Any], ...]

    def as_json(self, was: Mapping[str, Any]) -> dict[str, Any]:
        """For the watcher; ``was``: key of a check -> (state, reached, its text), as it was told last."""
        servers = [{"id": id, "name": name} for id, name in self.servers.items()]
        checks, guesses = [dict(check) for check in self.checks], [dict(guess) for guess in self.guesses]
        return {"id": self.id, "servers": servers, "checks": checks, "guesses": guesses, "was": dict(was)}


def class_texts(model: Mapping[str, Any]) -> list[str]:
    """The classes of the objects that are deployed, as their headers name them."""
    return sorted({text for obj in objects(deployed_objects(model)) if (text := type_of(obj))})


def id_in_rows(id: str) -> str:
    """The id of a component as rows have it: itself, or a digest of what a database would refuse."""
    if len(id) <= LONGEST and plain_text(id) == id:
        return id
    return "sha256:" + hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def components(
    model: Mapping[str, Any],
    declared: Callable[[list[str]], Declared],
    secrets: SecretNames = lambda type_text: frozenset(),
) -> Iterator[Component]:
    """The components of a model of which there is something to watch. ``secrets``: the properties of classes that
    nobody reads, besides those that are called so.
    """
    root = deployed_objects(model)
    known = by_id(root)
    servers = {id: found for id, obj in known.items() if (found := _server(obj)) is not None}
    classes = declared(class_texts(model))
    left, count, machines = MOST_CHECKS, MOST_COMPONENTS, MOST_ALL_SERVERS
    for application in applications_of(root):
        id = id_of(application)
        if id is None:
            continue
        own = [obj for obj in objects(application) if id_of(obj) is not None]
        ids = [str(id_of(obj)) for obj in own if id_of(obj) in servers]
        if not ids:  # one that lies on another component's servers is as well as these
            named = (
                name for obj in own for key, value in obj.items() if key != "?" for name in references(value, servers)
            )
            ids = list(dict.fromkeys(named))
        ids = ids[: min(MOST_SERVERS, machines)]
        theirs = dict(servers[one] for one in ids)
        if not theirs:
            continue
        machines -= len(theirs)
        checks = []
        homes = {servers[one][0]: one for one in ids}
        for check in islice(_checks(own, classes, servers, homes), MOST_OF_ONE):
            check["on"] = check["on"][:left]
            if check["on"] or (check["kind"] == "method" and left):
                checks.append(check)
                left -= len(check["on"]) or 1
        guesses = [] if checks else list(_guesses(own, [known[one] for one in ids], secrets))[:left]
        left -= len(guesses)
        yield Component(id_in_rows(id), plain_text(label_of(application)), theirs, tuple(checks), tuple(guesses))
        count -= 1
        if not count:
            break


def _server(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    found = server_of(obj)
    return None if found is None else (found[0], plain_text(found[1]))


def _checks(
    own: list[Any], classes: Declared, servers: Mapping[str, tuple[str, str]], homes: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """What classes declare of these objects. ``homes``: servers of the component, id in the cloud -> object id."""
    for obj in own:
        seen: set[str] = set()
        for told in classes.get(type_of(obj), {}).get("health") or ():
            check = _check(obj, told, servers, homes)
            if check is not None and check["name"] not in seen:
                seen.add(check["name"])
                yield check
        for told in classes.get(type_of(obj), {}).get("methods") or ():
            name = plain_text(str(told["name"]))
            if name not in seen:
                seen.add(name)
                yield _method(obj, told, name)


def _check(
    obj: Mapping[str, Any], told: Mapping[str, Any], servers: Mapping[str, tuple[str, str]], homes: Mapping[str, str]
) -> dict[str, Any] | None:
    """A declared check with the values of the object; None for one that cannot be made as the object is."""
    kind = told.get("kind")
    if kind == "command":
        return _command(obj, told, servers, homes)
    if kind not in ("http", "https", "tcp"):
        return None
    port, path = _value(obj, told.get("port"), int), told.get("path") or "/"
    if not path.startswith("/"):
        path = _value(obj, path, str)
    port = {"http": 80, "https": 443}.get(kind) if told.get("port") is None else port
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536 or not isinstance(path, str):
        return None
    return {
        "object": id_in_rows(str(id_of(obj))),
        "name": plain_text(told.get("name") or f"{kind} {port}"),
        "kind": kind,
        "on": list(_on(obj, told, servers, homes)),
        "port": port,
        "path": path[:1024] if path.startswith("/") else "/" + path[:1023],
        "expect": sorted(set(told.get("expect") or ())),
        "every": max(10, int(told.get("every") or 30)),
        "grace": max(0, int(told.get("grace") or 0)),
    }


def _command(
    obj: Mapping[str, Any], told: Mapping[str, Any], servers: Mapping[str, tuple[str, str]], homes: Mapping[str, str]
) -> dict[str, Any] | None:
    """A command on servers; ``machines``: id in the cloud -> id of the server object."""
    run = told.get("run")
    if not isinstance(run, str) or not run:
        return None
    on = _on(obj, told, servers, homes)
    return {
        "object": id_in_rows(str(id_of(obj))),
        "name": plain_text(told.get("name") or run[:64]),
        "kind": "command",
        "on": list(on),
        "machines": on,
        "run": run,
        "every": max(60, int(told.get("every") or 60)),
        "grace": max(0, int(told.get("grace") or 0)),
    }


def _method(obj: Mapping[str, Any], told: Mapping[str, Any], name: str) -> dict[str, Any]:
    own = str(id_of(obj))
    return {
        "object": id_in_rows(own),
        "name": name,
        "kind": "method",
        "on": [],
        "id": own,
        "method": str(told["name"]),
        "every": max(300, int(told.get("every") or 300)),
        "grace": max(0, int(told.get("grace") or 0)),
    }


def _on(
    obj: Mapping[str, Any], told: Mapping[str, Any], servers: Mapping[str, tuple[str, str]], homes: Mapping[str, str]
) -> dict[str, str]:
    """The servers that a check asks: id in the cloud -> id of the object."""
    if not told.get("on"):
        return dict(homes)
    named = _named(obj.get(told["on"]), servers)
    return {servers[name][0]: name for name in named if servers[name][0] in homes}


def _value(obj: Mapping[str, Any], told: Any, kind: type) -> Any:
    value = obj.get(told) if isinstance(told, str) else told
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return value if isinstance(value, kind) else None


def _named(value: Any, servers: Mapping[str, Any]) -> Iterator[str]:
    """Ids of the server objects that a property holds or names."""
    yield from (str(id_of(obj)) for obj in objects(value) if id_of(obj) in servers)
    yield from references(value, servers)


def _guesses(own: list[Any], machines: list[Mapping[str, Any]], secrets: SecretNames) -> Iterator[dict[str, Any]]:
    """Addresses of the component's servers that stand in its properties. Names have no path, nor what secrets hold."""
    theirs: dict[str, str] = {}
    for machine in machines:
        listed = machine["ipAddresses"] if isinstance(machine["ipAddresses"], (list, tuple)) else ()
        for address in (*listed, machine.get("floatingIpAddress")):
            if isinstance(address, str) and (found := _address(address)):
                theirs.setdefault(found, str(machine["openstackId"]))
    seen: set[str] = set()
    for url, hidden in _urls(own, secrets) if theirs else ():
        place = _place(url)
        if place is None or place[1] not in theirs:
            continue
        kind, address, port, path = place
        name = f"{kind}://[{address}]:{port}" if ":" in address else f"{kind}://{address}:{port}"
        if name in seen or hidden():
            continue
        seen.add(name)
        yield {"name": name, "kind": kind, "address": address, "port": port, "path": path, "on": theirs[address]}
        if len(seen) == MOST_GUESSES:
            return


def _urls(own: list[Any], secrets: SecretNames) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Texts that may name a place, and whether each is a secret: asked of few, since packages are read for it."""
    for obj in own:
        stack = [(key, key, value) for key, value in obj.items() if key != "?"]
        while stack:
            top, key, value = stack.pop()
            if isinstance(value, str):
                if len(value) < 512 and not sounds_secret(top) and not sounds_secret(key) and _URL.fullmatch(value):
                    yield value, partial(_is_secret, secrets, obj, top)
            elif isinstance(value, Mapping):
                if "?" not in value:
                    stack.extend((top, str(name), item) for name, item in value.items())
            elif isinstance(value, (list, tuple)):
                stack.extend((top, key, item) for item in value)


def _is_secret(secrets: SecretNames, obj: Mapping[str, Any], name: str) -> bool:
    return name in secrets(type_of(obj))


def _place(url: str) -> tuple[str, str, int, str] | None:
    """Kind, address, port, path; None for what names no address."""
    try:
        parts = urlsplit(url if "://" in url else f"tcp://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    address = _address(parts.hostname or "")
    if parts.scheme not in ("http", "https", "tcp") or not address or not port:
        return None
    return parts.scheme, address, port, parts.path or "/"


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None
