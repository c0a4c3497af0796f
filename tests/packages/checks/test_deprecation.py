"""Whoever uses what is not to be used any more is told so, where it is named, and what to use instead."""

from __future__ import annotations

import pytest

from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes

SPACES = "Namespaces: {=: %s, std: io.murano, l: io.vetro.lifecycle, lib: lib}\n"
#: Two classes of a library, of which one is not to be used any more.
OLD = """\
Name: Old
Extends: std:Object
Meta: {l:Deprecated: {text: it forgets things, replacement: lib.New}}
Properties:
  size: {Contract: $.int(), Meta: {l:Deprecated: {text: sizes are found out}}}
  left: {Contract: $.class(Old)}
"""
NEW = "Name: New\nExtends: std:Object\n"
TEXT = ("class lib.Old is deprecated: it forgets things", "use lib.New")


def library(**more: object) -> object:
    classes = {f"lib.{name}": SPACES % "lib" + text for name, text in (("Old", OLD), ("New", NEW))}
    head = {"name": "lib", "version": "1.0.0", "format": "1.4", "require": {"io.vetro": "1"}}
    return memory_package({**head, "classes": classes, **more})


def findings(text: str, *, beside: object = None) -> list[tuple[int, int, str, str | None]]:
    """Line, column, text and hint of what is found in a class of another package; all of it are warnings."""
    package = memory_package(
        {"name": "t", "format": "1.4", "require": {"lib": "1"}, "classes": {"t.Main": SPACES % "t" + text}}
    )
    found = check_classes(package, [library() if beside is None else beside])
    assert {(one.code, one.severity) for one in found} <= {("CHK109", "warning")}, found
    return [(one.place.line, one.place.column, one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("Name: Main\nExtends: lib:Old\n", 3, 10),
        ("Name: Main\nExtends: [std:Object, lib:Old]\n", 3, 23),
        ("Name: Main\nProperties: {a: {Contract: $.class(lib:Old)}}\n", 3, 36),
        ("Name: Main\nMethods: {m: {Body: [Return: new(lib:Old)]}}\n", 3, 34),
        ("Name: Main\nMethods: {m: {Arguments: [a: {Contract: [$.class(lib:Old)]}], Body: []}}\n", 3, 50),
        ("Name: Main\nImport: lib:Old\n", 2, 1),
    ],
)
def test_a_class_is_told_where_it_is_named(text: str, line: int, column: int) -> None:
    assert findings(text) == [(line, column, *TEXT)]


def test_a_property_is_told_where_its_value_is_given() -> None:
    text = "Name: Main\nMethods:\n  m:\n    Body:\n      - Return: new(lib:Old, left => null, size => 3)\n"
    assert findings(text) == [
        (6, 21, *TEXT),
        (6, 44, "property 'size' of lib.Old is deprecated: sizes are found out", None),
    ]
    again = "Name: Main\nExtends: lib:Old\nProperties: {size: {Contract: $.int()}}\n"
    assert findings(again)[1:] == [(4, 14, "property 'size' of lib.Old is deprecated: sizes are found out", None)]


def test_a_method_is_told_where_it_is_overridden() -> None:
    text = "Name: Old\nExtends: std:Object\nMethods: {go: {Meta: {l:Deprecated: {text: it walks}}, Body: []}}\n"
    beside = library(classes={"lib.Old": SPACES % "lib" + text})
    said = (4, 11, "method 'go' of lib.Old is deprecated: it walks", None)
    assert findings("Name: Main\nExtends: lib:Old\nMethods: {go: {Body: []}}\n", beside=beside) == [said]


def test_what_a_package_says_of_itself_is_told_where_it_is_required() -> None:
    meta = {"io.vetro.lifecycle.Deprecated": {"text": "it moved", "replacement": "lib2"}}
    (found,) = findings("Name: Main\n", beside=library(meta=meta))
    assert found[2:] == ("package lib is deprecated: it moved", "use lib2")


def test_who_declares_it_may_use_it() -> None:
    """The author of a library needs it for those who use it still."""
    assert check_classes(library()) == []


def test_a_namesake_is_none() -> None:
    text = "Name: Main\nExtends: lib:Old\n"
    own = "Name: Deprecated\nUsage: Meta\nProperties: {text: {Contract: $}, replacement: {Contract: $}}\n"
    namesake = OLD.replace("l:Deprecated", "Deprecated")
    classes = {"lib.Old": SPACES % "lib" + namesake, "lib.Deprecated": SPACES % "lib" + own}
    assert findings(text, beside=library(classes=classes)) == []
