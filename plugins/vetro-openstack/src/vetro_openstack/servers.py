"""Servers of an environment: those that its stacks have made, as Nova sees them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from vetro.clouds.interface import NotFound, Owner, ServerState
from vetro_openstack import marks
from vetro_openstack.link import Link
from vetro_openstack.stack_progress import path_of
from vetro_openstack.stacks import Stacks

#: What Heat calls the type.
SERVER = "OS::Nova::Server"
_STATES = {"BUILD": "BUILD", "ACTIVE": "ACTIVE", "ERROR": "ERROR", "REBUILD": "BUILD", "SHUTOFF": "SHUTOFF"}
_MOST_LINES = 10_000


def servers(link: Link, stacks: Stacks, owner: Owner, region: str) -> Sequence[ServerState]:
    """Servers in the region of the link; none where there is no Nova."""
    if not link.offers("compute"):
        return []
    found = []
    for id, stack in _ids(link, stacks, owner):
        answer = link.get("compute", f"/servers/{id}")
        if answer is not None:
            found.append(_state(answer["server"], stack, region))
    return found


def seen(link: Link, owned: Collection[str], region: str) -> dict[str, ServerState]:
    """Those of these servers that are there, by id, from one list for the whole project."""
    if not owned or not link.offers("compute"):
        return {}
    rows = link.pages("compute", "/servers/detail", "servers")
    return {state.id: state for row in rows if row.get("id") in owned for state in [_state(row, "", region)]}


def ids(link: Link, stacks: Stacks, owner: Owner) -> frozenset[str]:
    """Ids of the servers that the owner's stacks have made."""
    return frozenset(id for id, _ in _ids(link, stacks, owner)) if link.offers("compute") else frozenset()


def console(link: Link, stacks: Stacks, owner: Owner, server: str, lines: int) -> str | None:
    """The end of a server's console; None when the environment has no such server in this region."""
    if not link.offers("compute") or all(id != server for id, _ in _ids(link, stacks, owner)):
        return None
    return console_output(link, server, lines)


def console_output(link: Link, server: str, lines: int) -> str:
    """The end of the console of a server that is known by its id. Raises `NotFound`, and what Nova refuses."""
    body = {"os-getConsoleOutput": {"length": max(1, min(lines, _MOST_LINES))}}
    answer = link.request("compute", "POST", f"/servers/{server}/action", json=body)
    if answer is None:
        raise NotFound(f"Nova has no server '{server}' any more")
    return str(answer.get("output") or "")


def _ids(link: Link, stacks: Stacks, owner: Owner) -> list[tuple[str, str]]:
    """(id, name of the stack) of each."""
    found = []
    for stack in stacks.ids(link, owner):
        answer = link.get("orchestration", path_of(stack) + "/resources", type=SERVER, nested_depth=5)
        for row in (answer or {}).get("resources") or ():
            if row.get("resource_type") == SERVER and row.get("physical_resource_id"):
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
