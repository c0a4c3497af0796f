"""What another package uses although its author wants nobody to: classes, properties, methods, whole packages.

The author's own package may use it: it is there for those who use it still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vetro.diagnostics import WARNING, Diagnostic, Text
from vetro.muranopl.declarations import tree as d
from vetro.packages.deprecation import Deprecation, deprecation, package_deprecation
from vetro.yaql import ast


def deprecated_class(kind: Any, used: Any, place: d.Position) -> Iterator[Diagnostic]:
    """The finding where the file of ``kind`` names the class ``used``."""
    told = _told(kind, used, used.decl.meta)
    if told is not None:
        yield _found(Text("class {name} is deprecated: {why}", name=used.name, why=told.text), told, place)


def deprecated_arguments(kind: Any, used: Any, pairs: Iterator[tuple[str, d.Position]]) -> Iterator[Diagnostic]:
    """Findings where properties of a new object of class ``used`` are given; ``pairs``: their names with places."""
    for name, place in pairs:
        prop = used.properties.get(name)
        if prop is not None:
            yield from _of_property(kind, prop.declaring, prop.decl, place)


def deprecated_members(kind: Any) -> Iterator[Diagnostic]:
    """Findings where ``kind`` declares what a class above it has."""
    for ancestor in kind.ancestors[1:]:
        for name, prop in kind.decl.properties.items():
            theirs = ancestor.decl.properties.get(name)
            if theirs is not None:
                yield from _of_property(kind, ancestor, theirs, prop.position)
        for name, method in kind.decl.methods.items():
            above = ancestor.decl.methods.get(name)
            told = None if above is None else _told(kind, ancestor, above.meta)
            if told is not None:
                text = Text("method '{name}' of {of} is deprecated: {why}", name=name, of=ancestor.name, why=told.text)
                yield _found(text, told, method.position)


def deprecated_package(package: Any, place: d.Position) -> Iterator[Diagnostic]:
    """The finding where ``package`` is required."""
    told = package_deprecation(package)
    if told is not None:
        yield _found(Text("package {name} is deprecated: {why}", name=package.name, why=told.text), told, place)


def new_pairs(call: ast.Call) -> Iterator[tuple[str, ast.Node]]:
    """Names of the properties that a call of ``new`` gives, each with the node that spells it."""
    for item in call.args:
        if isinstance(item, ast.Pair) and isinstance(item.key, ast.Constant) and isinstance(item.key.value, str):
            yield item.key.value, item.key


def _told(kind: Any, of: Any, metas: Sequence[d.MetaDecl]) -> Deprecation | None:
    """What the author of the class ``of`` says to ``kind`` of another package."""
    return None if of.package is kind.package else deprecation(of, metas)


def _of_property(kind: Any, of: Any, declared: d.PropertyDecl, place: d.Position) -> Iterator[Diagnostic]:
    told = _told(kind, of, declared.meta)
    if told is not None:
        text = Text("property '{name}' of {of} is deprecated: {why}", name=declared.name, of=of.name, why=told.text)
        yield _found(text, told, place)


def _found(text: Text, told: Deprecation, place: d.Position) -> Diagnostic:
    hint = Text("use {name}", name=told.replacement) if told.replacement else None
    return Diagnostic("CHK109", WARNING, text, hint, place)
