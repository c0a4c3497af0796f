"""Upgrades of applications one by one: in which `order`, what others use before its users, and what each is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vetro.model.environment import applications_of
from vetro.model.header import id_of, parse_type_text
from vetro.model.tree import objects, references


def order(root: Any, moved: Collection[str]) -> list[list[str]]:
    """Ids of the applications with objects among ``moved``, in groups: each uses only groups before it, and itself.

    Applications that use each other, by whatever way, are one group. Otherwise the order is that of the model.
    """
    owners = owners_of(root)
    used: dict[str, set[str]] = {own: set() for own in owners.values()}
    for application in applications_of(root):
        mine = str(id_of(application))
        for obj in objects(application):
            values = [value for key, value in obj.items() if key != "?"]
            used[mine].update(owners[id] for id in references(values, owners))
    # Those that use each other reach the same; whoever uses another group reaches all that this one does, and more.
    groups: dict[frozenset[str], list[str]] = {}
    for own in dict.fromkeys(owners[id] for id in owners if id in moved):
        groups.setdefault(_reached(own, used), []).append(own)
    return [groups[reached] for reached in sorted(groups, key=len)]


def owners_of(root: Any) -> dict[str, str]:
    """Id of an object -> id of the application that it is, or is in."""
    return {
        str(id_of(obj)): str(id_of(application))
        for application in applications_of(root)
        for obj in objects(application)
    }


def request_of_group(
    report: Mapping[str, Any],
    group: Collection[str],
    answers: Mapping[str, Mapping[str, Any]],
    drops: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """What of a whole upgrade is about a group of its applications, as arguments of a request: to, objects, answers,
    drops. ``report`` is of the whole; ``answers`` and ``drops`` name objects by id or by ``ref`` of the report.
    """
    mine = [item for item in report["objects"] if item["application"] in group]
    others = {item[key] for item in report["objects"] if item not in mine for key in ("id", "ref")}
    packages = {parse_type_text(item["new_type"]).package for item in mine}
    return {
        "to": {package: version for package, version in report["target"].items() if package in packages},
        "objects": list(group),
        "answers": {own: values for own, values in answers.items() if own not in others},
        "drops": [(own, name) for own, name in drops if own not in others],
    }


def _reached(own: str, used: dict[str, set[str]]) -> frozenset[str]:
    found, stack = {own}, [own]
    while stack:
        more = used[stack.pop()] - found
        found |= more
        stack.extend(more)
    return frozenset(found)
