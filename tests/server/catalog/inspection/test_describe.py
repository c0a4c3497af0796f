"""What pages tell of the inside of a package."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.packages.archive import ArchiveLimits
from vetro.server.catalog.inspection.describe import describe, highlight, language_of

_CLASSES = {
    "com.example.App": """\
Namespaces: {'=': com.example, std: io.murano, m: io.murano.metadata}
Name: App
Extends: std:Application
Meta:
- m:Title: {text: An application}
Properties:
  names:
    Contract: [$.string().notNull(), 1, 3]
    Meta:
    - m:HelpText: {text: One to three}
  sizes: {Contract: {$.string(): $.int()}, Default: {a: 1}}
  parts: {Contract: {host: $.string(), port: $.int()}, Usage: Out}
  limit: {Contract: $.int().check($ > 0), Default: $.names.len()}
Methods:
  deploy:
    Body:
    - Return: 1
  scale:
    Scope: Public
    Arguments:
    - by: {Contract: $.int().notNull(), Default: 1}
    - rest: {Contract: $.string(), Usage: VarArgs}
    Body:
    - Return: $by
  make:
    Usage: Static
    Body:
    - Return: 2
""",
    "com.example.Big": "Namespaces: {'=': com.example}\nName: Big\nExtends: App\nMethods: {deploy: {Body: []}}\n",
    "com.example.Lost": "Namespaces: {'=': com.example}\nName: Lost\nExtends: Not\nProperties: {x: {Contract: $}}\n",
    "com.example.Broken": "Name: [",
}
_UI = """\
Version: 2.2
Application: {'?': {type: com.example.App}}
Forms:
- first:
    fields:
    - {name: title, type: string, label: Title, description: Shown on top, initial: Hello}
    - {name: size, type: integer, required: false, initial: $.first.title.len()}
    - {name: license, type: string, hidden: true, description: Apache 2.0}
    - name: mode
      type: choice
      choices: [[a, Slow], [b, Fast]]
"""


def _told(**options: Any) -> dict[str, Any]:
    data = archive(classes=_CLASSES, **options)
    return describe(data, "app.zip", [], ArchiveLimits())


def test_classes_are_told_with_their_contracts_as_they_are_written() -> None:
    found = {item["name"]: item for item in _told()["classes"]}
    app = found["com.example.App"]
    assert app["words"] == {"title": "An application"}
    assert app["file"] == "Classes/com.example.App.yaml"
    assert {p["name"]: (p["usage"], p["contract"], p["default"]) for p in app["properties"]} == {
        "names": ("In", "[$.string().notNull(), 1, 3]", None),
        "sizes": ("In", "{$.string(): $.int()}", '{"a": 1}'),
        "parts": ("Out", "{host: $.string(), port: $.int()}", None),
        "limit": ("In", "$.int().check($ > 0)", "$.names.len()"),
    }
    assert app["properties"][0]["words"] == {"help": "One to three"}
    assert {m["name"]: (m["usage"], m["public"]) for m in app["methods"]} == {
        "deploy": ("Runtime", False),
        "scale": ("Runtime", True),
        "make": ("Static", False),
    }
    scale = next(m for m in app["methods"] if m["name"] == "scale")
    assert [(a["name"], a["usage"], a["default"]) for a in scale["arguments"]] == [
        ("by", "Standard", "1"),
        ("rest", "VarArgs", None),
    ]


def test_what_is_not_to_be_used_any_more_says_why() -> None:
    text = """\
Namespaces: {'=': com.example, l: io.vetro.lifecycle}
Name: App
Meta: {l:Deprecated: {text: it forgets things, replacement: com.example.New}}
Properties: {size: {Contract: $, Meta: {l:Deprecated: {text: sizes are found out}}}}
Methods: {go: {Meta: [{l:Deprecated: {text: it walks, replacement: run}}], Body: []}}
"""
    data = archive(classes={"com.example.App": text}, Require={"io.vetro": "1"})
    (app,) = describe(data, "app.zip", [], ArchiveLimits())["classes"]
    assert app["words"] == {"deprecated": "it forgets things", "replacement": "com.example.New"}
    assert app["properties"][0]["words"] == {"deprecated": "sizes are found out"}
    assert app["methods"][0]["words"] == {"deprecated": "it walks", "replacement": "run"}


def test_inherited_members_stand_at_the_class_that_declares_them_without_those_that_are_overridden() -> None:
    """`Big` has its own deploy; io.murano is not given, so io.murano.Application is not known here."""
    from vetro.library import core_packages
    from vetro.muranopl.api import Engine
    from vetro.packages.archive import ArchiveTree
    from vetro.packages.formats import default_registry
    from vetro.server.catalog.inspection.describe import _class

    package = default_registry().load(ArchiveTree(archive(classes=_CLASSES), location="app.zip"))
    session = Engine([package, *core_packages()]).session()
    try:
        big = _class(session, package, "com.example.Big")
    finally:
        session.close()
    assert big["parents"] == [{"name": "com.example.App", "package": "com.example.App"}]
    own = big["inherited"][0]
    assert (own["name"], own["methods"]) == ("com.example.App", ["make", "scale"])
    assert own["properties"] == ["limit", "names", "parts", "sizes"]
    assert {"name": "io.murano.Object", "package": "io.murano"} in big["ancestors"]


def test_a_class_that_cannot_be_linked_or_read_says_why() -> None:
    found = {item["name"]: item for item in _told()["classes"]}
    assert "com.example.Not" in found["com.example.Lost"]["error"]
    assert [p["name"] for p in found["com.example.Lost"]["properties"]] == ["x"]
    assert found["com.example.Broken"]["error"]
    assert found["com.example.Broken"]["properties"] == []


def test_the_form_is_told_as_far_as_it_is_plain_text() -> None:
    (step,) = _told(files={"UI/ui.yaml": _UI}, UI="ui.yaml")["form"]
    assert step["name"] == "first"
    title, size, licence, mode = step["fields"]
    assert (title["label"], title["help"], title["initial"], title["required"]) == (
        "Title", "Shown on top", "Hello", True,
    )  # fmt: skip
    assert (size["required"], size["computed"], size["initial"]) == (False, ["initial"], "")
    assert (licence["hidden"], licence["help"]) == (True, "Apache 2.0")
    assert mode["choices"] == ["Slow", "Fast"]
    assert _told()["form"] is None


def test_source_keeps_every_character_whatever_it_is() -> None:
    text = "Name: App  # so\n\n- 'a': <b>&\n  x: 12\n"
    for path in ("Classes/App.yaml", "run.sh", "data.unknown", "x.html"):
        lines = highlight(text, path)
        assert ["".join(part for _, part in line) for line in lines] == text.rstrip("\n").split("\n")
    kinds = {part: kind for line in highlight(text, "a.yaml") for kind, part in line}
    assert (kinds["Name"], kinds["# so"]) == ("k", "c")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("Classes/App.yaml", "yaml"),
        ("Resources/run.SH", "bash"),
        ("query.sql", "sql"),
        ("a/Dockerfile", "docker"),
        ("unit.service", "systemd"),
        ("LICENSE", "text"),
        ("odd.", "text"),
        ("", "text"),
    ],
)
def test_the_language_of_a_file_follows_from_its_name(path: str, language: str) -> None:
    assert language_of(path) == language
