"""What is in the stacks of an environment, as Heat tells it; stacks in stacks, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.clouds.interface import Owner, ResourceState
from vetro_openstack import marks
from vetro_openstack.link import Link
from vetro_openstack.stack_progress import path_of, status_of
from vetro_openstack.stacks import Stacks

#: Levels of stacks in stacks that are looked at.
_DEPTH = 5


def of_environment(link: Link, stacks: Stacks, owner: Owner) -> Iterator[ResourceState]:
    """Those of the region of the link. Raises what asking Heat raises."""
    for stack in stacks.ids(link, owner):
        region, top = marks.region_in(stack), f"stack:{stack['id']}"
        name = marks.name_in(stack)
        yield ResourceState(top, None, f"{name} ({region})" if region else name, "stack", status_of(stack))
        answer = link.get("orchestration", path_of(stack) + "/resources", nested_depth=_DEPTH)
        yield from _rows((answer or {}).get("resources") or [], str(stack["id"]), top)


def _rows(rows: list[dict[str, Any]], stack: str, top: str) -> Iterator[ResourceState]:
    ids = {_place(row, stack): f"resource:{_place(row, stack)[0]}:{row['resource_name']}" for row in rows}
    #: A resource that is a stack itself, by the id of that stack.
    holders = {str(row["physical_resource_id"]): ids[_place(row, stack)] for row in rows if _holds(row)}
    uses: dict[str, list[str]] = {}
    for row in rows:
        inside, name = _place(row, stack)
        for other in row.get("required_by") or ():
            if (inside, other) in ids:
                uses.setdefault(ids[inside, other], []).append(ids[inside, name])
    for row in sorted(rows, key=lambda row: _place(row, stack)[0] != stack):
        inside, name = _place(row, stack)
        own = ids[inside, name]
        holder = holders.get(inside)
        yield ResourceState(
            own,
            top if inside == stack or holder in (None, own) else holder,
            name,
            str(row.get("resource_type") or ""),
            str(row.get("resource_status") or ""),
            tuple(uses.get(own, ())),
            str(row.get("physical_resource_id") or ""),
        )


def _place(row: dict[str, Any], stack: str) -> tuple[str, str]:
    """(id of the stack that a resource is in, its name)."""
    for link in row.get("links") or ():
        if link.get("rel") == "stack":
            return str(link.get("href") or "").rstrip("/").rpartition("/")[2] or stack, str(row["resource_name"])
    return stack, str(row["resource_name"])


def _holds(row: dict[str, Any]) -> bool:
    return bool(row.get("physical_resource_id"))
