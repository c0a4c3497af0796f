"""What the plans of an environment, before and after an upgrade, mean: in which group it belongs, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text

#: From the worst to the best; an environment is in the first one that fits.
FAILS, SKIPPED, ASKS, LOSES, REPLACES, CHANGES, SAME = (
    "fails",
    "skipped",
    "asks",
    "loses",
    "replaces",
    "changes",
    "same",
)
GROUPS: Final = (FAILS, SKIPPED, ASKS, LOSES, REPLACES, CHANGES, SAME)
#: Errors that say that there was not enough time or memory.
LIMITS: Final = frozenset({"ENG304", "ENG313", "ENG316", "ENG317", "ENG341", "LIM201", "LIM202"})
#: Things that are told of one environment; characters of a text.
MOST, LONGEST = 200, 500

Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class EnvironmentImpact:
    """What an upgrade would do to an environment.

    ``detail``: {resources: [{type, name, what, properties}], scripts, servers, asks: [{type, property, contract}],
    lost: [{type, property}], error: {code, message, position}, reason}, as far as there is something of it.
    """

    group: str
    detail: dict[str, Any] = field(default_factory=dict)
    #: {old, new}
    plans: dict[str, Any] | None = None


def skipped(reason: str) -> EnvironmentImpact:
    """An environment that nothing was found out of."""
    return EnvironmentImpact(SKIPPED, {"reason": reason if len(reason) <= LONGEST else reason[:LONGEST]})


def of_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """What an upgrade's report says of people: what is asked, and what is lost."""
    asks = [
        {"type": one["type"], "property": one["property"], "contract": str(one["contract"])[:LONGEST]}
        for one in report["asked"][:MOST]
    ]
    lost = [
        {"type": item["new_type"], "property": value["name"]}
        for item in report["objects"]
        for value in item["dropped"]
        if value["lost"]
    ][:MOST]
    return {name: value for name, value in (("asks", asks), ("lost", lost)) if value}


def of_plans(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """What ``new`` does beyond ``old``, both as `vetro.engine.planning.batch` answers plans: group, and detail."""
    known = _resources(old)
    resources = [one for key, one in _resources(new).items() if known.get(key) != one]
    scripts = sum((_scripts(new) - _scripts(old)).values())
    servers = len(set(new["gone"]) - set(old["gone"]))
    detail: dict[str, Any] = {}
    if resources:
        detail["resources"] = resources[:MOST]
    if scripts:
        detail["scripts"] = scripts
    if servers:
        detail["servers"] = servers
        return REPLACES, detail
    return (CHANGES if detail else SAME), detail


def _resources(told: Mapping[str, Any]) -> dict[Place, dict[str, Any]]:
    return {
        (stack["region"], stack["name"], resource["name"]): {
            "type": str(resource["type"])[:LONGEST],
            "name": str(resource.get("label", resource["name"]))[:LONGEST],
            "what": resource["what"],
            "properties": [str(name)[:LONGEST] for name in resource["properties"][:MOST]],
        }
        for stack in told["plan"]["stacks"]
        for resource in stack["resources"]
    }


def _scripts(told: Mapping[str, Any]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (script["server"], script["plan"], *script["scripts"], "", *script["files"])
        for script in told["plan"]["scripts"]
    )


# -- what is told of several -------------------------------------------------------------------------------------------


def reasons(found: Iterable[Mapping[str, Any]], most: int = 20) -> list[dict[str, Any]]:
    """Why environments are in a group, the commonest first: [{text, count}], from their details."""
    count: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for detail in found:
        own = {str(text): text for text in _texts(detail)}
        texts |= own
        count.update(list(own))
    ordered = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    return [{"text": texts[text], "count": number} for text, number in ordered[:most]]


def _texts(detail: Mapping[str, Any]) -> Iterable[str]:
    for resource in detail.get("resources", ()):
        values = {"type": resource["type"], "properties": ", ".join(resource["properties"])}
        if resource["what"] == "created":
            yield Text("makes {type}", type=resource["type"])
        elif resource["what"] == "deleted":
            yield Text("removes {type}", type=resource["type"])
        elif resource["what"] == "replaced":
            yield Text("replaces {type}: {properties}", **values)
        else:
            yield Text("changes {type}: {properties}", **values)
    if detail.get("scripts"):
        yield Text("runs other scripts in servers")
    for asked in detail.get("asks", ()):
        yield f"{_class(asked['type'])}.{asked['property']}: {asked['contract']}"
    for lost in detail.get("lost", ()):
        yield f"{_class(lost['type'])}.{lost['property']}"
    if detail.get("error"):
        error = detail["error"]
        place = place_text(error["position"])
        yield Text("{place}: {message}", place=place, message=error["message"]) if place else error["message"]
    if detail.get("reason"):
        yield detail["reason"]


def _class(type_text: str) -> str:
    return re.split("[/@]", type_text)[0]


def place_text(position: Mapping[str, Any] | None) -> str:
    """``FILE:LINE``, or nothing."""
    return "" if not position else f"{position['file']}:{position['line']}"
