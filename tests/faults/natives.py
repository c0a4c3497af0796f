"""Functions for the packages of these tests: any effect, and pushing a stack with one resource."""

from __future__ import annotations

from typing import Any

from vetro.library.stackdata import digest_of, parts_of
from vetro.muranopl.runtime.effects import plain
from vetro.muranopl.types.native import NativeRegistry


def effect(cx: Any, kind: str, args: Any = None) -> Any:
    """Performs one effect."""
    return cx.session.perform(kind, plain(args or {}))


def push(cx: Any, name: str, value: Any = 1) -> Any:
    """Pushes a stack whose only resource and output are ``value``."""
    template = {
        "resources": {"server": {"type": "test", "properties": {"v": value}}},
        "outputs": {"v": {"value": value}},
    }
    parts = parts_of(template)
    put = [[*part, item] for part, item in parts.items()]
    args = {"name": name, "region": None, "base": None, "digest": digest_of(parts), "put": put, "drop": []}
    return cx.session.perform("stack.push", {**args, "known": None})


def plan(cx: Any, name: str, kind: str = "agent.call", timeout: float = 60) -> Any:
    """Sends a plan; its id follows from its name."""
    args = {"queue": "e1-h1", "listener": "-execution-results-x", "id": f"id {name}", "plan": {"Name": name}}
    return cx.session.perform(kind, {**args, "timeout": timeout} if kind == "agent.call" else args)


def register(registry: NativeRegistry) -> None:
    """For `vetro.engine.installation.prepare`."""
    for function in (effect, push, plan):
        registry.register_function(function.__name__, function)
