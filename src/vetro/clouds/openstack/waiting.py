"""Waiting for Heat, and why something failed there: from resources, from events, and from the project's limits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError, StackFailed
from vetro.clouds.openstack.errors import Closing
from vetro.clouds.openstack.link import Link

Stack = dict[str, Any]

#: Seconds between looks at a stack: the first, by how much they grow, the longest.
_FIRST, _GROWTH, _LONGEST = 0.2, 1.3, 3.0
#: Seconds that Heat may be late beyond the time it was given.
_LATE = 300.0
#: Depth of nested stacks whose resources are looked at, and how many failures are told.
_DEPTH, _TOLD = 5, 5


def status_of(stack: Mapping[str, Any]) -> str:
    """CREATE_COMPLETE, UPDATE_FAILED…"""
    return str(stack.get("stack_status", ""))


def path_of(stack: Mapping[str, Any]) -> str:
    """The address of a stack below that of Heat."""
    return f"/stacks/{stack['stack_name']}/{stack['id']}"


def settled(link: Link, stack: Stack, minutes: int) -> Stack | None:
    """The stack when no operation on it is under way; None when it is gone.

    Events are read while it lasts: the youngest says whether anything happens, and the pauses follow that. Raises
    `StackFailed` when Heat is far beyond its time, `Closing`.
    """
    until = time.monotonic() + minutes * 60 + _LATE
    pause, newest = _FIRST, ""
    while True:
        found = link.get("orchestration", path_of(stack), resolve_outputs="false")
        if found is None or status_of(found["stack"]) == "DELETE_COMPLETE":
            return None
        if not status_of(found["stack"]).endswith("_IN_PROGRESS"):
            return dict(found["stack"])
        if time.monotonic() > until:
            raise StackFailed(
                f"stack '{stack['stack_name']}' is still {status_of(found['stack'])} after {minutes} minutes"
            )
        link.pause(pause)
        pause = min(pause * _GROWTH, _LONGEST)
        if pause > 1.0:
            last = _newest_event(link, stack)
            # Something happened: the end may be near.
            pause, newest = (1.0, last) if last != newest else (pause, newest)


def _newest_event(link: Link, stack: Stack) -> str:
    answer = link.get("orchestration", path_of(stack) + "/events", limit=1, sort_dir="desc", nested_depth=_DEPTH)
    events = (answer or {}).get("events") or []
    return str(events[0].get("id")) if events else ""


def why(link: Link, stack: Stack) -> str:
    """What a failed stack says, and which resources failed and why."""
    reason = str(stack.get("stack_status_reason") or "no reason is given")
    lines = []
    try:
        for name, kind, said in _failures(link, stack):
            if said and said not in reason:
                lines.append(f"{name} ({kind}): {said}")
        if "quota" in (reason + " ".join(lines)).lower():
            lines += quotas(link)
    except Closing:
        raise
    except CloudError as error:
        lines.append(f"more could not be read: {error.message}")
    return "; ".join([reason, *lines])


def _failures(link: Link, stack: Stack) -> Iterable[tuple[str, str, str]]:
    """(name, type, reason) of failed resources; those that are gone again are known by their events."""
    answer = link.get("orchestration", path_of(stack) + "/resources", nested_depth=_DEPTH)
    rows = [row for row in (answer or {}).get("resources") or () if str(row["resource_status"]).endswith("_FAILED")]
    types = {row["resource_name"]: row.get("resource_type", "resource") for row in rows}
    if not rows:
        answer = link.get("orchestration", path_of(stack) + "/events", sort_dir="desc", limit=50, nested_depth=_DEPTH)
        events = (answer or {}).get("events") or ()
        begun = stack.get("updated_time") or stack.get("creation_time") or ""
        rows = [
            event
            for event in events
            if str(event["resource_status"]).endswith("_FAILED")
            and event["resource_name"] != stack["stack_name"]
            and str(event.get("event_time", "")) >= begun
        ]
    told: dict[str, str] = {}
    for row in rows:
        told.setdefault(str(row["resource_name"]), str(row.get("resource_status_reason") or ""))
    # A nested stack repeats what its resources say; those are listed by themselves.
    names = list(told)[:_TOLD]
    return [(name, str(types.get(name, "resource")), told[name]) for name in names]


def quotas(link: Link) -> list[str]:
    """Limits of the project that are used up, of the services that are there."""
    found: list[str] = []
    if link.offers("compute"):
        limits = ((link.get("compute", "/limits") or {}).get("limits") or {}).get("absolute") or {}
        for what, most, used in (
            ("instances", "maxTotalInstances", "totalInstancesUsed"),
            ("cores", "maxTotalCores", "totalCoresUsed"),
            ("memory in MiB", "maxTotalRAMSize", "totalRAMUsed"),
        ):
            found += _told("Nova", what, limits.get(used), limits.get(most))
    if link.offers("block_storage"):
        limits = ((link.get("block_storage", "/limits") or {}).get("limits") or {}).get("absolute") or {}
        for what, most, used in (
            ("volumes", "maxTotalVolumes", "totalVolumesUsed"),
            ("GiB of volumes", "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
        ):
            found += _told("Cinder", what, limits.get(used), limits.get(most))
    if link.offers("network"):
        answer = link.get("network", f"/quotas/{link.project()}/details.json") or {}
        for what, row in (answer.get("quota") or {}).items():
            if isinstance(row, Mapping) and _tight(row.get("used"), row.get("limit")):
                found += _told("Neutron", what.replace("_", " ") + "s", row.get("used"), row.get("limit"))
    return found


def _tight(used: Any, most: Any) -> bool:
    return isinstance(used, int) and isinstance(most, int) and most >= 0 and used * 10 >= most * 8


def _told(service: str, what: str, used: Any, most: Any) -> list[str]:
    if not isinstance(used, int) or not isinstance(most, int) or most < 0:
        return []
    return [f"{service} has {used} of {most} {what} in use"]
