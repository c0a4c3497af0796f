"""Operators that change a property of a class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.packages.compat.mutations.sites import (
    MAJOR,
    MINOR,
    PATCH,
    Site,
    drop,
    get,
    operator,
    put,
    rename,
    scalar,
)


def _properties(site: Site, *usages: str) -> Iterator[tuple[str, Any]]:
    for name, prop in site.members("Properties"):
        own = not name.startswith("_") and name not in site.inherited
        if own and (scalar(prop, "Usage") or "In") in usages:
            yield name, prop


def _prop(site: Site, name: str) -> Any:
    return get(get(site.tree, "Properties"), name)


def _plain(prop: Any) -> bool:
    """Whether its contract is a chain that converts, and takes more than null."""
    return scalar(prop, "Contract").startswith(("$.int()", "$.string()"))


GIVEN = ("In", "Const", "InOut")


def _on(name: str, change: Callable[[Any], None]) -> Callable[[Site], None]:
    return lambda site: change(_prop(site, name))


@operator
def given_property_removed(site: Site) -> Any:
    for name, _ in _properties(site, *GIVEN):
        yield MAJOR, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)


@operator
def written_property_removed(site: Site) -> Any:
    for name, _ in _properties(site, "Out"):
        yield MAJOR, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)


@operator
def property_renamed(site: Site) -> Any:
    for name, _ in _properties(site, *GIVEN, "Out"):
        yield MAJOR, f".{name}", lambda copied, name=name: rename(get(copied.tree, "Properties"), name)


@operator
def needed_property_added(site: Site) -> Any:
    if get(site.tree, "Properties") is not None:
        text = "{Contract: $.string().notNull()}"
        yield MAJOR, ".added", lambda copied: put(get(copied.tree, "Properties"), "added", text)


@operator
def optional_property_added(site: Site) -> Any:
    if get(site.tree, "Properties") is not None:
        text = "{Contract: $.string().notNull(), Default: x}"
        yield MINOR, ".added", lambda copied: put(get(copied.tree, "Properties"), "added", text)


@operator
def property_made_const(site: Site) -> Any:
    for name, _ in _properties(site, "In"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Const"))


@operator
def property_made_written(site: Site) -> Any:
    for name, _ in _properties(site, "In", "Const"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Out"))


@operator
def property_made_internal(site: Site) -> Any:
    for name, _ in _properties(site, "Out"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Runtime"))


@operator
def property_opened(site: Site) -> Any:
    for name, _ in _properties(site, "Const"):
        yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "In"))


@operator
def contract_takes_null_only(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if _plain(prop) and ".notNull()" not in scalar(prop, "Contract"):
            text = scalar(prop, "Contract") + ".check($ = null)"
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def contract_takes_no_null(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        text = scalar(prop, "Contract")
        if _plain(prop) and ".notNull()" not in text and "null" not in text:
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text + ".notNull()"))


@operator
def contract_takes_null(site: Site) -> Any:
    for name, prop in _properties(site, "In", "Const"):
        text = scalar(prop, "Contract")
        if ".notNull()" in text and "check" not in text:
            wide = text.replace(".notNull()", "")
            yield MINOR, f".{name}", _on(name, lambda prop, wide=wide: put(prop, "Contract", wide))


@operator
def contract_without_its_condition(site: Site) -> Any:
    for name, prop in _properties(site, "In", "Const"):
        text, _, condition = scalar(prop, "Contract").partition(".check(")
        if condition:
            yield MINOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def contract_of_another_kind(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN, "Out"):
        text = scalar(prop, "Contract")
        if text.startswith("$.string()") and "check" not in text:
            other = text.replace("$.string()", "$.int()")
            yield MAJOR, f".{name}", _on(name, lambda prop, other=other: put(prop, "Contract", other))


@operator
def readers_get_more(site: Site) -> Any:
    for name, prop in _properties(site, "Out"):
        if scalar(prop, "Contract") in ("$.string()", "$.int()"):
            yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Contract", "$"))


@operator
def object_of_another_class(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if scalar(prop, "Contract").startswith("$.class("):
            text = "$.class('io.murano.StackTrace')"
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def default_of_what_is_needed_removed(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if get(prop, "Default") is not None and ".notNull()" in scalar(prop, "Contract"):
            yield MAJOR, f".{name}", _on(name, lambda prop: drop(prop, "Default"))


@operator
def default_changed(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if scalar(prop, "Default") and _plain(prop):
            yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Default", "'77'"))


@operator
def metadata_added(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN, "Out"):
        if get(prop, "Meta") is None:
            yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Meta", "{io.murano.metadata.Title: {text: x}}"))


@operator
def internal_property_removed(site: Site) -> Any:
    for name, _ in site.members("Properties"):
        if name.startswith("_"):
            yield PATCH, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)
