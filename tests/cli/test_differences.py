"""Differences of models as commands print them."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.cli.differences import print_changes


def change(what: str, *properties: tuple[str, Any, Any], id: str = "o") -> dict[str, Any]:
    told = [{"name": name, "old": old, "new": new, "added": False, "removed": False} for name, old, new in properties]
    return {"what": what, "id": id, "name": id, "type": "t.Class/1.0.0@t", "properties": told}


def test_who_only_holds_something_else_is_not_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    """The environment has one application more: that is told by the application."""
    child = {"?": {"id": "new", "type": "t.App"}, "port": 80}
    items = [
        change("changed", ("applications", [], [child]), id="root"),
        change("changed", ("applications", [], [child]), ("name", "a", "b"), id="renamed"),
        change("changed", ("ports", [], [80]), id="other"),
        change("changed", ("password", "***", "***"), id="secret"),
        change("created", ("port", None, 80), id="new"),
    ]
    print_changes(items, "table")
    said = capsys.readouterr().out
    assert "root" not in said and "applications" not in said
    named = [line.split()[1] for line in said.splitlines() if not line.startswith(" ")]
    assert named == ["renamed", "other", "secret", "new"]
    assert 'name: "a" -> "b"' in said and "ports: [] -> [80]" in said
    print_changes(items, "json")
    assert "applications" in capsys.readouterr().out, "data is told in full"
