"""What a class says of the versions before it, and what of that can never work."""

from __future__ import annotations

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.declarations.versions import parse_version
from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes
from vetro.packages.version_steps import former_names, is_due, migrations, renames

HEAD = "Namespaces: {=: t, std: io.murano, l: io.vetro.lifecycle}\nName: Main\nExtends: std:Object\n"
OLD = "Arguments: [old: {Contract: {}}], Body: [Return: $old]"
MIGRATE = f"Usage: Static, Meta: {{l:Migration: {{to: 2.0.0}}}}, {OLD}"


def package(body: str, version: str = "2.0.0", **more: str) -> object:
    classes = {"t.Main": HEAD + body, **{f"t.{name}": HEAD.replace("Main", name) + text for name, text in more.items()}}
    return memory_package(
        {"name": "t", "version": version, "format": "1.4", "classes": classes, "require": {"io.vetro": "1"}}
    )


def findings(body: str, version: str = "2.0.0", **more: str) -> list[tuple[str, int, str, str]]:
    found = check_classes(package(body, version, **more))
    return [(p.place.file.rpartition("/")[2], p.place.line, p.code, p.message) for p in found if p.severity == "error"]


RENAMED = "{{l:Renamed: {{from: {}, to: {}}}}}"


def methods(**changed: tuple[str, str]) -> str:
    """Migrations by name, each with a change of its text."""
    return "Methods: {" + ", ".join(f"{name}: {{{MIGRATE.replace(*pair)}}}" for name, pair in changed.items()) + "}\n"


def properties(**before: list[tuple[str, str]]) -> str:
    """Properties, each with its former names and when it lost them."""
    made = [f"{n}: {{Contract: $, Meta: [{', '.join(RENAMED.format(*x) for x in was)}]}}" for n, was in before.items()]
    return "Properties: {" + ", ".join(made) + "}\n"


def replaces(name: str, to: str = "2.0.0") -> str:
    return f"Meta: {{l:Replaces: {{name: {name}, to: {to}}}}}\n"


SAME = ("", "")
OTHERS = "Meta: [{l:Update: {guard: required, settle: 60}}, {l:NotRestorable: {what: a}}, {l:Deprecated: {text: b}}]\n"


@pytest.mark.parametrize(
    "body",
    [
        methods(m=SAME),
        methods(m=SAME, n=("2.0.0", "1.5.0")),
        properties(port=[("listen", "2.0.0")]),
        properties(port=[("a", "1.0.0"), ("b", "2.0.0")]),
        replaces("t.Old"),
        OTHERS,
    ],
)
def test_what_can_work_is_no_finding(body: str) -> None:
    assert findings(body) == []
    assert findings(body, "2.0.0-rc.1") == []  # it is to store what the release will


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (methods(m=("Static", "Runtime")), "CHK106", "migration 'm' is not static: there is no object yet"),
        (methods(m=("old:", "all:")), "CHK106", "migration 'm' has to have one argument, 'old'"),
        (methods(m=("{}}]", "{}, Usage: KwArgs}]")), "CHK106", "migration 'm' has to have one argument, 'old'"),
        (methods(m=("2.0.0", "2.0.1")), "CHK106", "'to' is 2.0.1, but the package has version 2.0.0"),
        (methods(m=("2.0.0", "'2.0'")), "CHK106", "'to' has to be a release"),
        (methods(m=("2.0.0", "2.0.0-rc.1")), "CHK106", "'to' has to be a release"),
        (methods(m=SAME, n=SAME), "CHK106", "there is another migration to 2.0.0: 'm'"),
        (properties(a=[("b", "2.0.0")], b=[]), "CHK107", "'b' is a property of the class"),
        (properties(a=[("b", "3.0.0")]), "CHK107", "'to' is 3.0.0, but the package has version 2.0.0"),
        (properties(a=[("b", "2.0.0"), ("c", "2.0.0")]), "CHK107", "'a' is renamed twice in 2.0.0"),
        (properties(a=[("c", "2.0.0")], b=[("c", "2.0.0")]), "CHK107", "'c' became 'a' in 2.0.0 already"),
        (replaces("t.Main"), "CHK108", "'t.Main' is a class of this package"),
        (replaces("Old"), "CHK108", "'name' has to be the full former name of the class"),
        (replaces("t.Old", "two"), "CHK108", "'to' has to be a release"),
    ],
)
def test_what_can_never_work_is_told_where_it_stands(body: str, code: str, message: str) -> None:
    ((file, line, found, said),) = findings(body)
    assert (file, line, found) == ("t.Main.yaml", 4, code) and said.startswith(message)


def test_two_classes_cannot_replace_one() -> None:
    text = "Meta: {l:Replaces: {name: t.Old, to: 2.0.0}}\n"
    assert findings(text, Other=text) == [
        ("t.Other.yaml", 4, "CHK108", "'t.Old' is replaced in 2.0.0 by t.Main already")
    ]


def test_a_property_that_was_renamed_twice_goes_through_both_names() -> None:
    body = properties(c=[("b", "2.0.0"), ("a", "1.5.0")])
    kind = Engine([package(body)]).session().types.find("t.Main", "2.0.0")
    assert [(one.before, one.after, str(one.to)) for one in renames(kind)] == [("a", "b", "1.5.0"), ("b", "c", "2.0.0")]
    assert former_names(kind) == migrations(kind) == []


@pytest.mark.parametrize(
    ("old", "new", "due"),
    [
        ("1.0.0", "2.0.0", True),
        ("1.0.0", "3.1.0", True),
        ("2.0.0", "3.0.0", False),
        ("1.0.0", "1.9.9", False),
        ("1.0.0", "2.0.0-rc.1", True),
        ("2.0.0-rc.1", "2.0.0", False),
    ],
)
def test_a_step_is_taken_once_on_the_way(old: str, new: str, due: bool) -> None:
    assert is_due(parse_version("2.0.0"), parse_version(old), parse_version(new)) is due


def test_other_packages_have_no_say() -> None:
    body = "Properties: {c: {Contract: $, Meta: {Renamed: {from: b, to: 2.0.0}}}}\n"
    own = "Usage: Meta\nApplies: Property\nProperties: {from: {Contract: $}, to: {Contract: $}}\n"
    kind = Engine([package(body, Renamed=own.replace("Extends", "#"))]).session().types.find("t.Main", "2.0.0")
    assert renames(kind) == []
