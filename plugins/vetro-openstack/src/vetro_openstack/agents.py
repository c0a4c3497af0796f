"""Which server runs the agent with a queue, and what that server says on its console.

Neither Heat nor Nova knows queues. They stand in the user data that a stack's template makes, and Vetro has that
template: the one it sent, or the same as Heat gives it back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from vetro.clouds.guest.agent_queue import agent_queue
from vetro.clouds.interface import Owner
from vetro.library.stackdata import FILES, VALUES, Part, Parts
from vetro_openstack import marks
from vetro_openstack.link import Link
from vetro_openstack.servers import SERVER, console_output, why_off
from vetro_openstack.stack_progress import Stack, path_of
from vetro_openstack.stacks import Stacks

#: What refers to a resource, in Heat's own format and in that of CloudFormation.
_TO_RESOURCES = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})
_REMEMBERED = 8


class Agents:
    """Servers by the queues of their agents. Used by many threads."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._lock = threading.Lock()
        #: By id of a stack: the digest of its wanted state, and resource and server name for each queue in it.
        self._queues: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}

    def console(self, link: Link, owner: Owner, queue: str, lines: int) -> tuple[str, str] | None:
        """Name and end of the console of the server with a queue; None when this region has none. Raises `CloudError`
        where the server is there and its console cannot be read."""
        found = self._server(link, owner, queue)
        return None if found is None else (found[0], console_output(link, found[1], lines))

    def why_silent(self, link: Link, owner: Owner, queue: str) -> str | None:
        """Why nobody answers on a queue although this region has its server; None while somebody may."""
        found = self._server(link, owner, queue)
        return None if found is None else why_off(link, *found)

    def _server(self, link: Link, owner: Owner, queue: str) -> tuple[str, str] | None:
        """Name and id of the server whose agent has a queue."""
        if not link.offers("compute"):
            return None
        for stack in self._stacks.ids(link, owner):
            resource, name = self._of(link, owner, stack).get(queue, ("", ""))
            answer = resource and link.get("orchestration", f"{path_of(stack)}/resources/{quote(resource, safe='')}")
            server = str(answer["resource"].get("physical_resource_id") or "") if answer else ""
            if server:
                return name, server
        return None

    def _of(self, link: Link, owner: Owner, stack: Stack) -> dict[str, tuple[str, str]]:
        digest = marks.digest_in(stack)
        with self._lock:
            known, found = self._queues.get(stack["id"], ("", {}))
        if digest and known == digest:
            return found
        parts = self._stacks.parts(link, stack)
        if parts is None:
            return {}
        found = queues(parts, owner.environment)
        with self._lock:
            self._queues[stack["id"]] = (digest, found)
            while len(self._queues) > _REMEMBERED:
                del self._queues[next(iter(self._queues))]
        return found


def queues(parts: Parts, environment: str) -> dict[str, tuple[str, str]]:
    """Name of the resource and of the server for each agent's queue that the user data of a stack's servers name."""
    found: dict[str, tuple[str, str]] = {}
    for (section, resource), body in parts.items():
        if section != "resources" or not isinstance(body, dict) or body.get("type") != SERVER:
            continue
        properties = body.get("properties") or {}
        for text in _texts(properties.get("user_data"), parts, set()):
            queue = agent_queue(text, environment)
            if queue is not None:
                name = properties.get("name")
                found[queue] = (resource, name if isinstance(name, str) else resource)
                break
    return found


def _texts(value: Any, parts: Parts, seen: set[Part]) -> Iterator[str]:
    """All texts in a value of a template and in what it refers to, each once."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            for key, inner in item.items():
                name = inner[0] if isinstance(inner, list) and inner else inner
                part = (_section(key), name)
                if not part[0] or not isinstance(name, str) or part not in parts:
                    todo.append(inner)
                elif part not in seen:
                    seen.add(part)
                    todo.append(parts[part])


def _section(function: str) -> str:
    if function in _TO_RESOURCES:
        return "resources"
    return {"get_param": VALUES, "get_file": FILES}.get(function, "")
