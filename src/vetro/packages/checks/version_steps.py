"""Steps from earlier versions that can never be taken: migrations that are none, names that are still in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vetro.diagnostics import ERROR, Diagnostic, Text
from vetro.muranopl.declarations.tree import ArgumentUsage, Literal, MetaDecl, MethodDecl
from vetro.packages.version_steps import lifecycle, release, release_in, text_in

_MIGRATION, _RENAMED, _REPLACES = "CHK106", "CHK107", "CHK108"


def version_step_problems(kind: Any) -> Iterator[Diagnostic]:
    """Findings about what a class says of the versions before it."""
    yield from _migrations(kind)
    yield from _renamed(kind)
    yield from _replaces(kind)


def replaced_twice(kinds: Iterable[Any]) -> Iterator[Diagnostic]:
    """Findings about classes of one package that want to be the same former class."""
    known: dict[tuple[str, Any], str] = {}
    for kind in kinds:
        for decl in lifecycle(kind, kind.decl.meta, "Replaces"):
            name, to = text_in(decl, "name"), release_in(decl)
            if name is None or to is None:
                continue
            other = known.setdefault((name, to), kind.name)
            if other != kind.name:
                text = Text("'{name}' is replaced in {to} by {other} already", name=name, to=to, other=other)
                yield _found(_REPLACES, text, decl, Text("an object becomes one of one class"))


def _migrations(kind: Any) -> Iterator[Diagnostic]:
    known: dict[Any, str] = {}
    for method in kind.decl.methods.values():
        for decl in lifecycle(kind, method.meta, "Migration"):
            yield from _migration(method, decl)
            yield from _release(kind, decl, _MIGRATION)
            to = release_in(decl)
            other = known.setdefault(to, method.name) if to is not None else method.name
            if other != method.name:
                text = Text("there is another migration to {to}: '{other}'", to=to, other=other)
                yield _found(_MIGRATION, text, decl, Text("make one method of them: nobody can say which comes first"))


def _migration(method: MethodDecl, decl: MetaDecl) -> Iterator[Diagnostic]:
    if not method.static:
        text = Text("migration '{name}' is not static: there is no object yet when it runs", name=method.name)
        yield _found(_MIGRATION, text, decl, Text("write 'Usage: Static'"))
    given = [(one.name, one.usage) for one in method.arguments]
    if given != [("old", ArgumentUsage.STANDARD)]:
        text = Text("migration '{name}' has to have one argument, 'old'", name=method.name)
        hint = Text("the properties as they are stored: {argument}", argument="- old: {Contract: {}}")
        yield _found(_MIGRATION, text, decl, hint)


def _renamed(kind: Any) -> Iterator[Diagnostic]:
    known: dict[tuple[str, Any], str] = {}
    for prop in kind.decl.properties.values():
        releases: set[Any] = set()
        for decl in lifecycle(kind, prop.meta, "Renamed"):
            yield from _release(kind, decl, _RENAMED)
            before, to = text_in(decl, "from"), release_in(decl)
            if before is None:
                yield _found(_RENAMED, Text("'from' has to be the former name of the property"), decl)
                continue
            if kind.find_property(before) is not None:
                text = Text(
                    "'{name}' is a property of the class: '{prop}' cannot have been called so",
                    name=before,
                    prop=prop.name,
                )
                yield _found(_RENAMED, text, decl, Text("a name that is used again means something else: migrate"))
            if to is None:
                continue
            if to in releases:
                yield _found(_RENAMED, Text("'{name}' is renamed twice in {to}", name=prop.name, to=to), decl)
            releases.add(to)
            other = known.setdefault((before, to), prop.name)
            if other != prop.name:
                text = Text("'{name}' became '{other}' in {to} already", name=before, other=other, to=to)
                yield _found(_RENAMED, text, decl, Text("write a migration that fills both"))


def _replaces(kind: Any) -> Iterator[Diagnostic]:
    for decl in lifecycle(kind, kind.decl.meta, "Replaces"):
        yield from _release(kind, decl, _REPLACES)
        before = text_in(decl, "name")
        if before is None or "." not in before:
            hint = Text("write it with its namespace, as in com.example.Database")
            yield _found(_REPLACES, Text("'name' has to be the full former name of the class"), decl, hint)
        elif before in kind.package.classes:
            text = Text(
                "'{name}' is a class of this package: '{other}' cannot have been called so",
                name=before,
                other=kind.name,
            )
            yield _found(_REPLACES, text, decl)


def _release(kind: Any, decl: MetaDecl, code: str) -> Iterator[Diagnostic]:
    to, own = release_in(decl), kind.package.version
    written = decl.properties.get("to")
    if to is None and isinstance(written, Literal) and not isinstance(written.value, str):
        return  # its contract says so
    if to is None:
        yield _found(code, Text("'to' has to be a release"), decl, Text("write three numbers, as in 2.0.0"))
    elif release(to) > release(own):
        text = Text("'to' is {to}, but the package has version {own}", to=to, own=own)
        yield _found(code, text, decl, Text("the step is never taken: correct it, or the version"))


def _found(code: str, text: Text, decl: MetaDecl, hint: Text | None = None) -> Diagnostic:
    return Diagnostic(code, ERROR, text, hint, decl.position)
