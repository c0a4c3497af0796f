"""docs/api.md lists every route with its rule. ``VETRO_UPDATE_GOLDEN=1`` writes the table anew."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from ninja import Schema

from vetro.server.api.v2.api import api

PAGE = Path(__file__).parents[4] / "docs" / "api.md"
HEAD = "| route | rule | |\n|---|---|---|\n"


def table() -> str:
    """One line a route, in the order of the description."""
    lines = []
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, about in methods.items():
            rule = about.get("x-policy-rule")
            needs = f"`{rule}`" if rule else "—" if about.get("security") else "no token"
            first = about["description"].splitlines()[0].replace("``", "`").replace("|", "\\|")
            lines.append(f"| {method.upper()} `{path}` | {needs} | {first} |\n")
    return HEAD + "".join(lines)


def test_every_route_is_documented() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, found, rest = text.partition(HEAD)
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        PAGE.write_text(before.rstrip("\n") + "\n\n" + table(), encoding="utf-8")
        return
    assert found + rest == table()


def test_no_two_schemas_share_a_name() -> None:
    """The description knows them by name: of two that are called alike it would have one."""
    assert api.get_openapi_schema()["paths"]  # all modules are loaded
    left, names = [Schema], Counter[str]()
    while left:
        for one in left.pop().__subclasses__():
            left.append(one)
            if one.__module__.startswith("vetro.") and "[" not in one.__name__:
                names[one.__name__] += 1
    assert [name for name, count in names.items() if count > 1] == []


def test_every_state_of_a_task_is_documented() -> None:
    from vetro.server.tasks.models import Task

    text = PAGE.read_text(encoding="utf-8")
    assert [state for state in ("queued", "running", Task.NEEDS_PERSON, *Task.FINAL) if f"`{state}`" not in text] == []
