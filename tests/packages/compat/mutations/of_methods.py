"""Operators that change a method of a class, or its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from tests.packages.compat.mutations.sites import (
    MAJOR,
    MINOR,
    PATCH,
    Level,
    Site,
    drop,
    get,
    node,
    operator,
    put,
    rename,
    scalar,
)


def _methods(site: Site, *, called: bool) -> Iterator[tuple[str, Any]]:
    """Methods; ``called``: from outside."""
    for name, method in site.members("Methods"):
        public = scalar(method, "Scope") == "Public" or scalar(method, "Usage") in ("Action", "Static")
        life = name.startswith(("_", ".")) or name in ("initialize", "destroy")  # nobody calls these by name
        if not life and name not in site.inherited and public is called:
            yield name, method


def _to(name: str, change: Callable[[Any], None]) -> Callable[[Site], None]:
    return lambda site: change(get(get(site.tree, "Methods"), name))


def _arguments(method: Any) -> list[tuple[str, Any]]:
    found = get(method, "Arguments")
    if isinstance(found, yaml.MappingNode):
        return [(key.value, value) for key, value in found.value]
    if not isinstance(found, yaml.SequenceNode):
        return []
    return [(key.value, value) for item in found.value for key, value in item.value]


def _all_methods(site: Site) -> Iterator[tuple[str, Any]]:
    yield from _methods(site, called=True)
    yield from _methods(site, called=False)


def _by_caller(site: Site) -> Iterator[tuple[Level, str, Any]]:
    """Methods, with what a change of their arguments is: callers within a package move along."""
    yield from ((MAJOR, name, method) for name, method in _methods(site, called=True))
    yield from ((MINOR, name, method) for name, method in _methods(site, called=False))


@operator
def method_removed(site: Site) -> Any:
    for name, _ in _all_methods(site):
        yield MAJOR, f"::{name}", lambda copied, name=name: drop(get(copied.tree, "Methods"), name)


@operator
def method_renamed(site: Site) -> Any:
    for name, _ in _all_methods(site):
        yield MAJOR, f"::{name}", lambda copied, name=name: rename(get(copied.tree, "Methods"), name)


@operator
def method_closed(site: Site) -> Any:
    for name, method in _methods(site, called=True):
        if scalar(method, "Scope") == "Public":
            yield MAJOR, f"::{name}", _to(name, lambda method: drop(method, "Scope"))


@operator
def method_made_static(site: Site) -> Any:
    for name, method in _all_methods(site):
        if not scalar(method, "Usage") and name not in ("deploy", "initialize", "init"):
            yield MAJOR, f"::{name}", _to(name, lambda method: put(method, "Usage", "Static"))


@operator
def method_added(site: Site) -> Any:
    if get(site.tree, "Methods") is not None:
        text = "{Body: [{Return: 1}]}"
        yield MINOR, "::added", lambda copied: put(get(copied.tree, "Methods"), "added", text)


@operator
def argument_removed(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        for number, (argument, _) in enumerate(_arguments(method)):

            def change(method: Any, number: int = number) -> None:
                del get(method, "Arguments").value[number]

            yield level, f"::{name}({argument})", _to(name, change)


@operator
def argument_renamed(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        for number, (argument, _) in enumerate(_arguments(method)):

            def change(method: Any, number: int = number, argument: str = argument) -> None:
                found = get(method, "Arguments")
                rename(found if isinstance(found, yaml.MappingNode) else found.value[number], argument)

            yield level, f"::{name}({argument})", _to(name, change)


@operator
def arguments_swapped(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        found = _arguments(method)
        if len(found) > 1 and not any(scalar(value, "Usage") for _, value in found):
            yield level, f"::{name}({found[0][0]})", _to(name, lambda method: get(method, "Arguments").value.reverse())


def _append(text: str) -> Callable[[Any], None]:
    def change(method: Any) -> None:
        if get(method, "Arguments") is None:
            put(method, "Arguments", "[]")
        found = get(method, "Arguments")
        if isinstance(found, yaml.MappingNode):
            found.value.extend(node(text).value)
        else:
            found.value.append(node(text))

    return change


def _open(method: Any) -> bool:
    return any(scalar(value, "Usage") for _, value in _arguments(method))


@operator
def needed_argument_added(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        if not _open(method):
            yield level, f"::{name}(added)", _to(name, _append("{added: {Contract: $.int().notNull()}}"))


@operator
def optional_argument_added(site: Site) -> Any:
    for name, method in _all_methods(site):
        if not _open(method):
            yield MINOR, f"::{name}(added)", _to(name, _append("{added: {Contract: $.int(), Default: 1}}"))


def _narrowed_arguments(site: Site, *, called: bool) -> Iterator[tuple[str, Any]]:
    """Where an argument of a method takes less, and the change that makes it so."""
    for name, method in _methods(site, called=called):
        for number, (argument, value) in enumerate(_arguments(method)):
            text = scalar(value, "Contract")
            if text.startswith(("$.string()", "$.int()")) and "check" not in text and not scalar(value, "Usage"):

                def change(method: Any, number: int = number, text: str = text) -> None:
                    put(_arguments(method)[number][1], "Contract", f"{text}.check($ = 7 or $ = '7')")

                yield f"::{name}({argument})", _to(name, change)


@operator
def argument_of_a_public_method_narrowed(site: Site) -> Any:
    for place, change in _narrowed_arguments(site, called=True):
        yield MAJOR, place, change


@operator
def argument_of_a_session_method_narrowed(site: Site) -> Any:
    for place, change in _narrowed_arguments(site, called=False):
        yield MINOR, place, change


@operator
def body_changed(site: Site) -> Any:
    for name, method in _all_methods(site):
        if get(method, "Body") is not None:
            yield PATCH, f"::{name}", _to(name, lambda method: put(method, "Body", "[{Return: 1}]"))


@operator
def internal_method_removed(site: Site) -> Any:
    for name, _ in site.members("Methods"):
        if name.startswith("_"):
            yield PATCH, f"::{name}", lambda copied, name=name: drop(get(copied.tree, "Methods"), name)
