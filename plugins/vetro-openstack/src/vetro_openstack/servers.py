"""Servers of an environment: those that its stacks have made, as Nova sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from vetro.clouds.interface import CloudError, Conflict, NotFound, Owner, PowerAction, ServerState
from vetro.clouds.open_ports import open_ports
from vetro.clouds.waits import Say, server_text
from vetro_openstack import marks
from vetro_openstack.link import Link
from vetro_openstack.stack_progress import path_of
from vetro_openstack.stacks import Stacks

#: What Heat calls the type.
SERVER = "OS::Nova::Server"
_STATES = {"BUILD": "BUILD", "ACTIVE": "ACTIVE", "ERROR": "ERROR", "REBUILD": "BUILD", "SHUTOFF": "SHUTOFF"}
_MOST_LINES = 10_000
_OFF = frozenset({"SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED"})
_ON: Mapping[str, Any] = {
    "SHUTOFF": {"os-start": None},
    "PAUSED": {"unpause": None},
    "SUSPENDED": {"resume": None},
    "SHELVED": {"unshelve": None},
    "SHELVED_OFFLOADED": {"unshelve": None},
    "ERROR": {"reboot": {"type": "HARD"}},
}
#: What Nova is asked for, by the state that it shows.
_ASKED: Mapping[PowerAction, Mapping[str, Any]] = {
    "start": _ON,
    "stop": {"ACTIVE": {"os-stop": None}, "ERROR": {"os-stop": None}},
    "restart": {**_ON, "ACTIVE": {"reboot": {"type": "SOFT"}}},
}
#: Seconds that Nova may take for one of these, and between two looks at the server.
_WITHIN, _LOOK = 300.0, 1.0


def servers(link: Link, stacks: Stacks, owner: Owner, region: str) -> Sequence[ServerState]:
    """Servers in the region of the link; none where there is no Nova."""
    if not link.offers("compute"):
        return []
    found = []
    for id, stack in made(link, stacks, owner):
        answer = link.get("compute", f"/servers/{id}")
        if answer is not None:
            found.append(_state(answer["server"], stack, region))
    return found


#: Name of a security group -> its rules.
Rules = Mapping[str, Sequence[Mapping[str, Any]]]


def seen(link: Link, owned: Collection[str], region: str, rules: Callable[[], Rules]) -> dict[str, ServerState]:
    """Those of these servers that are there, by id, from one list for the whole project; ``rules`` of the project."""
    if not owned or not link.offers("compute"):
        return {}
    found: dict[str, ServerState] = {}
    for row in link.pages("compute", "/servers/detail", "servers"):
        if row.get("id") in owned:
            state = _state(row, "", region)
            if state.reachable:
                known, groups = rules(), {str(one.get("name")) for one in row.get("security_groups") or ()}
                state = replace(state, ports=open_ports(rule for name in groups for rule in known.get(name, ())))
            found[state.id] = state
    return found


def rules_of(link: Link) -> Rules:
    """Those of the project's security groups: Nova tells their names."""
    if not link.offers("network"):
        return {}
    project = link.project()
    rows = [
        row
        for row in link.pages("network", "/security-groups", "security_groups")
        if row.get("tenant_id", row.get("project_id")) == project
    ]
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(row.get("name")), []).extend(row.get("security_group_rules") or ())
    return found


def ids(link: Link, stacks: Stacks, owner: Owner) -> frozenset[str]:
    """Ids of the servers that the owner's stacks have made."""
    return frozenset(id for id, _ in made(link, stacks, owner)) if link.offers("compute") else frozenset()


def console(link: Link, stacks: Stacks, owner: Owner, server: str, lines: int) -> str | None:
    """The end of a server's console; None when the environment has no such server in this region."""
    if not link.offers("compute") or all(id != server for id, _ in made(link, stacks, owner)):
        return None
    return console_output(link, server, lines)


def console_output(link: Link, server: str, lines: int) -> str:
    """The end of the console of a server that is known by its id. Raises `NotFound`, and what Nova refuses."""
    body = {"os-getConsoleOutput": {"length": max(1, min(lines, _MOST_LINES))}}
    answer = link.request("compute", "POST", f"/servers/{server}/action", json=body)
    if answer is None:
        raise NotFound(f"Nova has no server '{server}' any more")
    return str(answer.get("output") or "")


def power(link: Link, server: str, action: PowerAction) -> None:
    """See `vetro.clouds.interface.Power.power`. The server is known to be the owner's.

    Nova refuses what does not fit the state (409), so what it is asked for follows from that.
    """
    with link.waiting("server", server_text(server, action)) as say:
        _power(link, server, action, say)


def _power(link: Link, server: str, action: PowerAction, say: Say) -> None:
    asked, refused, end = False, "", time.monotonic() + _WITHIN
    while True:
        answer = link.get("compute", f"/servers/{server}")
        if answer is None:
            raise NotFound(f"Nova has no server '{server}' any more")
        record = answer["server"]
        state, name = str(record.get("status")), str(record.get("name") or server)
        if not record.get("OS-EXT-STS:task_state"):  # else Nova is at it, for us or for somebody else
            if state in _OFF if action == "stop" else state == "ACTIVE" and (asked or action == "start"):
                return
            body = None if asked else _ASKED[action].get(state)
            if body is not None:
                try:
                    link.request("compute", "POST", f"/servers/{server}/action", json=body)
                    asked = True
                except Conflict as error:  # it has changed since it was looked at, or somebody locked it
                    refused = f" ({error.message})"
            elif state == "ERROR":
                raise CloudError(f"server '{name}' did not {action}: {_fault(record)}")
        if time.monotonic() > end:
            raise CloudError(
                f"server '{name}' did not {action} within {_WITHIN:.0f} s: Nova shows it as {state}{refused}"
            )
        say(server_text(name, action))
        link.pause(_LOOK)


def why_off(link: Link, name: str, server: str) -> str | None:
    """Why a server (by id) runs nothing; None while it may, and while Nova changes it."""
    answer = link.get("compute", f"/servers/{server}")
    if answer is None:
        return f"server '{name}' is gone"
    state = str(answer["server"].get("status"))
    if answer["server"].get("OS-EXT-STS:task_state"):
        return None
    if state in _OFF:
        return f"server '{name}' is switched off ({state}); start it first"
    return f"server '{name}' is broken: {_fault(answer['server'])}" if state == "ERROR" else None


def _fault(record: Mapping[str, Any]) -> str:
    fault = record.get("fault")
    return str((fault or {}).get("message") or "Nova says no more than ERROR")[:500]


def made(link: Link, stacks: Stacks, owner: Owner, kind: str = SERVER) -> list[tuple[str, str]]:
    """(id, name of the stack) of each resource of a type that the owner's stacks have made in this region."""
    found = []
    for stack in stacks.ids(link, owner):
        answer = link.get("orchestration", path_of(stack) + "/resources", type=kind, nested_depth=5)
        for row in (answer or {}).get("resources") or ():
            if row.get("resource_type") == kind and row.get("physical_resource_id"):
                found.append((str(row["physical_resource_id"]), marks.name_in(stack)))
    return found


def _state(record: dict[str, Any], stack: str, region: str) -> ServerState:
    told = [one for rows in (record.get("addresses") or {}).values() for one in rows]
    try:
        created = datetime.fromisoformat(str(record.get("created")).replace("Z", "+00:00")).timestamp()
    except ValueError:
        created = 0.0
    image, flavor = record.get("image") or {}, record.get("flavor") or {}
    return ServerState(
        str(record["id"]),
        str(record.get("name", "")),
        stack,
        region,
        # What is neither made nor broken does not run: PAUSED, SUSPENDED, STOPPED, DELETED…
        _STATES.get(str(record.get("status")), "SHUTOFF"),
        [one["addr"] for one in told],
        str(image.get("id", "")) if isinstance(image, dict) else "",
        str(flavor.get("original_name") or flavor.get("id", "")),
        created,
        # Networks of tenants are anywhere; only what the cloud itself handed out leads to this server from outside.
        [one["addr"] for one in told if one.get("OS-EXT-IPS:type") == "floating"],
    )
