"""Differences of models and plans as people read them; the same for workspaces and servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vetro.cli import output as out
from vetro.model.differences import contains_only, in_words
from vetro.model.header import class_name, label_of_type

_MARKS = {
    "created": ("+", "green"),
    "destroyed": ("-", "red"),
    "deleted": ("-", "red"),
    "moved": (">", "cyan"),
    "replaced": ("±", "red"),
    "started": ("^", "green"),
}
#: How a server was that is started.
_WAS = {"stopped": "it is stopped", "ended": "it has ended by itself"}
_CHANGED = ("~", "yellow")
#: Characters of a value that are shown.
_LONGEST = 60
#: What is said after each plan.
UNCHANGED = "nothing was changed"


def print_changes(items: Iterable[Mapping[str, Any]], output: str) -> None:
    """Differences of two object models: a line an object, below it the properties that differ."""
    found = list(items)
    if output != "table":
        out.print_data(found, output)
        return
    for line in _change_lines(found):
        out.echo(line)
    if not found:
        out.note("no differences")


def _change_lines(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for item in items:
        properties = [one for one in item["properties"] if not contains_only(one["old"], one["new"])]
        if item["what"] == "changed" and not properties:
            continue  # objects that it holds came or went, which is told of these
        kind = class_name(item["type"])
        yield _line(str(item["what"]), f"{item['name'] or label_of_type(item['type'])}  ({kind})")
        if item["what"] in ("created", "destroyed"):
            continue
        for prop in map(in_words, properties):
            old = "not set" if prop["added"] else _short(prop["old"])
            new = "not set" if prop["removed"] else _short(prop["new"])
            yield f"    {prop['name']}: {old} -> {new}"


def print_plan(plan: Any, output: str) -> None:
    """What a deployment would do: objects, resources, servers, scripts in order, and what cannot be known before. For
    people it ends with the word that planning did none of it."""
    if output != "table":
        out.print_data(plan, output)
        return
    _section("no way back", [f"  {text}" for text in plan.get("no_way_back") or ()])
    _section("objects", list(_change_lines(plan["objects"])))
    _section("resources", list(_resource_lines(plan["stacks"])))
    _section(
        "servers", [_line("started", f"{s['name']} is started: {_WAS[s['was']]}") for s in plan.get("servers") or ()]
    )
    _section("scripts", [_script(entry) for entry in plan["scripts"]])
    _section("not used", [f"  {text}" for text in plan.get("unused") or ()])
    _section("only known when it happens", [f"  {text}" for text in plan["unknown"]])
    if any(plan[name] for name in ("objects", "stacks", "servers", "scripts") if name in plan):
        out.note(out.style(UNCHANGED, fg="green"))
    else:
        out.note("nothing would change")


def _section(title: str, lines: list[str]) -> None:
    if lines:
        out.echo(out.style(title, bold=True))
        for line in lines:
            out.echo(line)


def _resource_lines(stacks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for stack in stacks:
        yield _line(
            str(stack["what"]), f"stack {stack['name']}" + (f" in {stack['region']}" if stack["region"] else "")
        )
        for resource in stack["resources"]:
            more = f": {', '.join(resource['properties'])}" if resource["properties"] else ""
            yield "  " + _line(
                str(resource["what"]), f"{resource.get('label', resource['name'])}  ({resource['type']}){more}"
            )


def _script(entry: Mapping[str, Any]) -> str:
    names = ", ".join(entry["scripts"]) or ", ".join(entry["files"])
    return f"  on {entry['server']}: {entry.get('label', entry['plan'])}" + (f" ({names})" if names else "")


def _line(what: str, text: str) -> str:
    mark, color = _MARKS.get(what, _CHANGED)
    return f"{out.style(mark, fg=color, bold=True)} {text}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
