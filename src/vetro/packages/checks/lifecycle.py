"""Metadata of ``io.vetro.lifecycle`` that can never work: checks without a port, names of no property."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.diagnostics import ERROR, Diagnostic, Text
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.didyoumean import suggest

_HEALTH = "io.vetro.lifecycle.Health"


def lifecycle_problems(kind: Any, made: Any, position: Position) -> Iterator[Diagnostic]:
    """Findings about ``made``, a meta object of class ``kind``."""
    if made._type.name == _HEALTH:
        for text, hint in _health(kind, made):
            yield Diagnostic("CHK105", ERROR, text, hint, position)


def _health(kind: Any, made: Any) -> Iterator[tuple[Text, Text | None]]:
    values = {name: getattr(made, prop.attr) for name, prop in made._type.properties.items()}
    if values["kind"] == "tcp" and values["port"] is None:
        yield Text("a check of kind tcp needs 'port'"), Text("a number, or the name of a property of the object")
    port, path = values["port"], values["path"]
    named = [("on", values["on"]), ("port", port if isinstance(port, str) else None)]
    named.append(("path", None if path.startswith("/") else path))
    for what, property_name in named:
        if property_name is not None and property_name not in kind.properties:
            close = suggest(property_name, kind.properties)
            hint = Text("did you mean '{close}'?", close=close) if close else None
            text = Text("'{what}' of a check names no property of the class: '{name}'", what=what, name=property_name)
            yield text, hint
