"""What of an environment is watched: its components, their servers and checks, as `vetro.engine.watching` takes them.

Everything is read from the model as it is deployed. What authors declared comes from their classes, by a process behind
the walls of tasks: nothing of a package is evaluated here. Values of a model are a tenant's: the watcher asks only
servers that the cloud calls this environment's own, at addresses that the cloud handed out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, label_of, type_of
from vetro.model.tree import by_id, objects, references

#: Most checks of one environment, of one component, and servers that are watched of one component.
MOST_CHECKS, MOST_OF_ONE, MOST_SERVERS = 100, 20, 200
#: Most addresses in the properties of one component.
_MOST_URLS = 20
_URL = re.compile(r"https?://[^\s\"'<>]{1,500}|(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}|\[[0-9A-Fa-f:.]{2,45}\]:\d{1,5}")

#: Class, as headers name it -> what it declares: {health: [{property: value}]} (`Performance.lifecycle`).
Declared = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Component:
    """A component that can be watched. ``servers``: id in the cloud -> name."""

    id: str
    name: str
    servers: Mapping[str, str]
    checks: tuple[Mapping[str, Any], ...]
    urls: tuple[str, ...]

    def as_json(self, was: Mapping[str, Any]) -> dict[str, Any]:
        """For the watcher; ``was``: key of a check -> (state, reached), as it was told last."""
        servers = [{"id": id, "name": name} for id, name in self.servers.items()]
        checks = [dict(check) for check in self.checks]
        return {"id": self.id, "servers": servers, "checks": checks, "urls": list(self.urls), "was": dict(was)}


def class_texts(model: Mapping[str, Any]) -> list[str]:
    """The classes of the objects that are deployed, as their headers name them."""
    return sorted({text for obj in objects(deployed_objects(model)) if (text := type_of(obj))})


def components(model: Mapping[str, Any], declared: Callable[[list[str]], Declared]) -> Iterator[Component]:
    """The components of a model of which there is something to watch."""
    root = deployed_objects(model)
    known = by_id(root)
    servers = {id: found for id, obj in known.items() if (found := _server(obj)) is not None}
    classes = declared(class_texts(model))
    left = MOST_CHECKS
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
        theirs = dict(servers[one] for one in ids[:MOST_SERVERS])
        if not theirs:
            continue
        checks = list(_checks(own, classes, servers, theirs))[: min(left, MOST_OF_ONE)]
        left -= len(checks)
        urls = () if checks else tuple(dict.fromkeys(_urls(own)))[:_MOST_URLS]
        yield Component(id, label_of(application), theirs, tuple(checks), urls)


def _server(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    """Id in the cloud and name of a server; None for other objects. Instances of all classes have these properties."""
    id = obj.get("openstackId")
    if isinstance(id, str) and id and "flavor" in obj and "ipAddresses" in obj:
        return id, str(obj.get("name") or id)
    return None


def _checks(
    own: list[Any], classes: Declared, servers: Mapping[str, tuple[str, str]], theirs: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for obj in own:
        seen: set[str] = set()
        for told in classes.get(type_of(obj), {}).get("health") or ():
            check = _check(obj, told, servers, theirs)
            if check is not None and check["name"] not in seen:
                seen.add(check["name"])
                yield check


def _check(
    obj: Mapping[str, Any], told: Mapping[str, Any], servers: Mapping[str, tuple[str, str]], theirs: Mapping[str, str]
) -> dict[str, Any] | None:
    """A declared check with the values of the object; None for one that cannot be made as the object is."""
    kind = told.get("kind")
    if kind not in ("http", "https", "tcp"):
        return None
    port, path = _value(obj, told.get("port"), int), told.get("path") or "/"
    if not path.startswith("/"):
        path = _value(obj, path, str)
    port = {"http": 80, "https": 443}.get(kind) if told.get("port") is None else port
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536 or not isinstance(path, str):
        return None
    on = list(theirs)
    if told.get("on"):
        on = [id for id, _ in (servers[name] for name in _named(obj.get(told["on"]), servers))]
        on = [id for id in on if id in theirs]
    return {
        "object": id_of(obj),
        "name": told.get("name") or f"{kind} {port}",
        "kind": kind,
        "on": on,
        "port": port,
        "path": path[:1024] if path.startswith("/") else "/" + path[:1023],
        "expect": list(told.get("expect") or ()),
        "every": max(10, int(told.get("every") or 30)),
        "grace": max(0, int(told.get("grace") or 0)),
    }


def _value(obj: Mapping[str, Any], told: Any, kind: type) -> Any:
    value = obj.get(told) if isinstance(told, str) else told
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return value if isinstance(value, kind) else None


def _named(value: Any, servers: Mapping[str, Any]) -> Iterator[str]:
    """Ids of the server objects that a property holds or names."""
    yield from (str(id_of(obj)) for obj in objects(value) if id_of(obj) in servers)
    yield from references(value, servers)


def _urls(own: list[Any]) -> Iterator[str]:
    for obj in own:
        stack = [value for key, value in obj.items() if key != "?"]
        while stack:
            value = stack.pop()
            if isinstance(value, str):
                if len(value) < 512 and _URL.fullmatch(value):
                    yield value
            elif isinstance(value, Mapping):
                if "?" not in value:
                    stack.extend(value.values())
            elif isinstance(value, (list, tuple)):
                stack.extend(value)
