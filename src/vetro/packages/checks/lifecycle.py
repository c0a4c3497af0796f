"""Metadata of ``io.vetro`` that can never work: checks without a port, names of no property, methods that nobody can
call without arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.diagnostics import ERROR, Diagnostic, Text
from vetro.muranopl.declarations.tree import NO_DEFAULT, ArgumentUsage, MetaDecl, MethodDecl
from vetro.yaql.didyoumean import suggest

_HEALTH = "io.vetro.lifecycle.Health"
_PRESET = "io.vetro.forms.Preset"
#: Metadata of methods that the service calls.
_CALLED = ("io.vetro.lifecycle.HealthCheck", "io.vetro.lifecycle.Power")


def lifecycle_problems(kind: Any, made: Any, decl: MetaDecl) -> Iterator[Diagnostic]:
    """Findings about ``made``, the meta object of a declaration of class ``kind``."""
    name = made._type.name
    found: Iterator[tuple[Text, Text | None]] = iter(())
    if name == _HEALTH:
        found = _health(kind, made, "every" in decl.properties)
    elif name == _PRESET:
        found = _preset(kind, made)
    elif name in _CALLED:
        method = next(method for method in kind.decl.methods.values() if any(one is decl for one in method.meta))
        found = _method(method)
    for text, hint in found:
        yield Diagnostic("CHK105", ERROR, text, hint, decl.position)


def _health(kind: Any, made: Any, paced: bool) -> Iterator[tuple[Text, Text | None]]:
    values = {name: getattr(made, prop.attr) for name, prop in made._type.properties.items()}
    command = values["kind"] == "command"
    if values["kind"] == "tcp" and values["port"] is None:
        yield Text("a check of kind tcp needs 'port'"), Text("a number, or the name of a property of the object")
    if command and values["run"] is None:
        yield Text("a check of kind command needs 'run'"), Text("a command line for the server's shell")
    if not command and values["run"] is not None:
        yield Text("only a check of kind command has 'run'"), None
    if command and paced and values["every"] < 60:
        yield Text("a check of kind command is made every 60 seconds at most"), Text("write every: 60")
    port, path = values["port"], values["path"]
    named = [("on", values["on"]), ("port", port if isinstance(port, str) else None)]
    named.append(("path", None if path.startswith("/") else path))
    for what, property_name in named:
        if property_name is not None and property_name not in kind.properties:
            close = suggest(property_name, kind.properties)
            hint = Text("did you mean '{close}'?", close=close) if close else None
            text = Text("'{what}' of a check names no property of the class: '{name}'", what=what, name=property_name)
            yield text, hint


def _preset(kind: Any, made: Any) -> Iterator[tuple[Text, Text | None]]:
    values = {name: getattr(made, prop.attr) for name, prop in made._type.properties.items()}
    for name in values["values"]:
        if name not in kind.properties:
            close = suggest(str(name), kind.properties)
            hint = Text("did you mean '{close}'?", close=close) if close else None
            yield (
                Text("preset '{preset}' sets no property of the class: '{name}'", preset=values["name"], name=name),
                hint,
            )


def _method(method: MethodDecl) -> Iterator[tuple[Text, Text | None]]:
    required = any(a.usage is ArgumentUsage.STANDARD and a.default is NO_DEFAULT for a in method.arguments)
    if required or method.static:
        text = Text("method '{name}' is called without arguments, on an object", name=method.name)
        yield text, Text("give its arguments defaults; it is no static method")
