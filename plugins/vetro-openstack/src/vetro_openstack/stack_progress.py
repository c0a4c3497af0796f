"""Waiting for Heat, and why something failed there: from resources, from events, and from the project's limits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError, StackFailed
from vetro.clouds.waits import Say, resource_text, service_text
from vetro.diagnostics import Text
from vetro_openstack.errors import Closing, CloudUnreachable
from vetro_openstack.link import SERVICES, Link
from vetro_openstack.quotas import LIMITED, quotas

Stack = dict[str, Any]

#: Seconds between looks at a stack: the first, by how much they grow, the longest.
_FIRST, _GROWTH, _LONGEST = 0.2, 1.3, 3.0
#: Seconds that Heat may be late beyond the time it was given.
_LATE = 300.0
#: Seconds for which Heat may be away while it works on a stack: somebody restarts it, and the stack goes on after that.
_AWAY = 300.0
#: Depth of nested stacks whose resources are looked at, and how many failures are told.
_DEPTH, _TOLD = 5, 5
#: Part of a quota of Neutron from which on it is told.
_TIGHT = 0.8


def status_of(stack: Mapping[str, Any]) -> str:
    """CREATE_COMPLETE, UPDATE_FAILED…"""
    return str(stack.get("stack_status", ""))


def path_of(stack: Mapping[str, Any]) -> str:
    """The address of a stack below that of Heat."""
    return f"/stacks/{stack['stack_name']}/{stack['id']}"


def settled(link: Link, stack: Stack, minutes: int) -> Stack | None:
    """The stack when no operation on it is under way; None when it is gone.

    Events are read while it lasts: the youngest says whether anything happens, and the pauses follow that. Raises
    `StackFailed` when Heat is far beyond its time, `CloudUnreachable` when it was away for too long, `Closing`.
    """
    with link.waiting("resource", _text(stack, status_of(stack))) as say:
        return _settled(link, stack, minutes, say)


def _text(stack: Stack, status: str) -> Text:
    return resource_text(str(stack["stack_name"]), "OS::Heat::Stack", status.partition("_")[0])


def _settled(link: Link, stack: Stack, minutes: int, say: Say) -> Stack | None:
    heard = time.monotonic()
    until = heard + minutes * 60 + _LATE
    pause, newest = _FIRST, ""
    while True:
        try:
            found = link.get("orchestration", path_of(stack), resolve_outputs="false")
        except CloudUnreachable:
            if time.monotonic() - heard > _AWAY:
                raise
            say(service_text(SERVICES["orchestration"]))
            link.pause(pause)
            pause = min(pause * _GROWTH, _LONGEST)
            continue
        heard = time.monotonic()
        if found is None or status_of(found["stack"]) == "DELETE_COMPLETE":
            return None
        if not status_of(found["stack"]).endswith("_IN_PROGRESS"):
            return dict(found["stack"])
        if time.monotonic() > until:
            raise StackFailed(
                f"stack '{stack['stack_name']}' is still {status_of(found['stack'])} after {minutes} minutes"
            )
        if not newest:
            say(_text(stack, status_of(found["stack"])))
        link.pause(pause)
        pause = min(pause * _GROWTH, _LONGEST)
        if pause > 1.0:
            event = _newest_event(link, stack)
            last = str(event.get("id") or "")
            if str(event.get("resource_status")).endswith("_IN_PROGRESS"):
                kind = str(event.get("resource_type") or "OS::Heat::Stack")
                say(resource_text(str(event.get("resource_name")), kind, str(event["resource_status"]).split("_")[0]))
            # Something happened: the end may be near.
            pause, newest = (1.0, last) if last != newest else (pause, newest)


def _newest_event(link: Link, stack: Stack) -> Mapping[str, Any]:
    try:
        answer = link.get("orchestration", path_of(stack) + "/events", limit=1, sort_dir="desc", nested_depth=_DEPTH)
    except CloudUnreachable:
        return {}
    events = (answer or {}).get("events") or []
    return dict(events[0]) if events else {}


def why(link: Link, stack: Stack) -> str:
    """What a failed stack says, and which resources failed and why."""
    reason = str(stack.get("stack_status_reason") or "no reason is given")
    lines = []
    try:
        for name, kind, said in _failures(link, stack):
            if said and said not in reason:
                lines.append(f"{name} ({kind}): {said}")
        if "quota" in (reason + " ".join(lines)).lower():
            lines += _used_up(link)
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


def _used_up(link: Link) -> list[str]:
    """Limits of the project that may be the reason, of the services that are there: Neutron has too many for all."""
    found: list[str] = []
    for service in LIMITED:
        if link.offers(service):
            tight = _TIGHT if service == "network" else 0.0
            found += [str(quota) for quota in quotas(link, service) if quota.part >= tight]
    return found
