from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.diagnostics import Diagnostic
from vetro.muranopl.errors import DeclarationError
from vetro.packages.errors import ManifestError
from vetro.packages.manifest import KNOWN_KEYS, Manifest, parse_format, parse_manifest

GOLDEN = Path(__file__).parent / "golden"
LEAST = "FullName: com.example.App\nType: Application\n"


def read(extra: str = "", text: str = LEAST) -> Manifest:
    return parse_manifest(text + extra, "app/manifest.yaml")


def problems(extra: str = "", text: str = LEAST) -> list[Diagnostic]:
    with pytest.raises(ManifestError) as caught:
        read(extra, text)
    return list(caught.value.problems)


def test_defaults() -> None:
    manifest = read()
    assert str(manifest.format) == "MuranoPL/1.0.0"
    assert str(manifest.version) == "0.0.0"
    assert manifest.name == "com.example.App"
    assert (manifest.description, manifest.author, manifest.supplier, manifest.meta) == (None, None, None, None)
    assert (manifest.tags, dict(manifest.classes), dict(manifest.requirements)) == ((), {}, {})
    assert (manifest.logo, manifest.supplier_logo, manifest.ui) == (None, None, None)
    assert manifest.warnings == ()


def test_everything() -> None:
    manifest = read(
        """\
Format: MuranoPL/1.3
Version: 1.10
Name: An app
Description: |
  Two
  lines
Author: Me
Tags: [a, 1]
Classes:
  com.example.App: ./sub/App.yaml
  com.example.B: sub/App.yaml
Require:
  lib: '>=1.2, <2'
  other:
  core: 1.10
Logo: pics/l.png
Supplier:
  Name: They
  Logo: s.png
  CompanyUrl: {Text: x, Link: http://e.com}
UI: form.yaml
Meta: {com.example.M: {text: x}}
EntryPoint: main.yaml
"""
    )
    assert str(manifest.format) == "MuranoPL/1.3.0"
    assert str(manifest.version) == "1.10.0", "text, not the number 1.1"
    assert (manifest.name, manifest.description, manifest.author) == ("An app", "Two\nlines\n", "Me")
    assert manifest.tags == ("a", "1")
    assert manifest.classes == {"com.example.App": "sub/App.yaml", "com.example.B": "sub/App.yaml"}
    assert list(manifest.requirements.items()) == [("lib", ">=1.2, <2"), ("other", ""), ("core", "1.10")]
    assert (manifest.logo, manifest.supplier_logo, manifest.ui) == ("pics/l.png", "s.png", "form.yaml")
    assert manifest.supplier is not None and manifest.supplier["CompanyUrl"]["Link"] == "http://e.com"
    assert manifest.meta == {"com.example.M": {"text": "x"}}
    assert manifest.raw["EntryPoint"] == "main.yaml" and manifest.raw["Version"] == "1.10"
    assert str(manifest.positions["Classes.com.example.B"]) == "app/manifest.yaml:13:3"


def test_empty_values_mean_absent() -> None:
    manifest = read("Format:\nVersion: ''\nTags:\nClasses:\nRequire: []\nLogo: ''\nUI:\nSupplier:\nMeta: ''\nName:\n")
    assert str(manifest.format) == "MuranoPL/1.0.0" and str(manifest.version) == "0.0.0"
    assert manifest.name == "com.example.App" and manifest.logo is None and manifest.meta is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "MuranoPL/1.0.0"),
        ("", "MuranoPL/1.0.0"),
        ("1", "MuranoPL/1.0.0"),
        ("1.3", "MuranoPL/1.3.0"),
        ("MuranoPL/", "MuranoPL/1.0.0"),
        ("Heat.HOT/1.0", "Heat.HOT/1.0.0"),
        ("TOSCA.CSAR/1.1", "TOSCA.CSAR/1.1.0"),
    ],
)
def test_formats(text: str | None, expected: str) -> None:
    assert str(parse_format(text)) == expected


@pytest.mark.parametrize(("text", "hint"), [("Heat.HOT", "Heat.HOT/1.0"), ("a b/1", "Name/Version"), ("x/y", "Name")])
def test_malformed_formats(text: str, hint: str) -> None:
    with pytest.raises(DeclarationError, match="is no format") as caught:
        parse_format(text)
    assert hint in (caught.value.hint or "")


def test_foreign_formats_give_classes_their_own_meaning() -> None:
    assert read("Format: X/1.0\nClasses: [a]\n").raw["Classes"] == ["a"]


def test_warnings_do_not_refuse() -> None:
    manifest = read("Requirements: {a: 1}\nVersoin: 1\nTags: one\nType: Library\nClasses: {a: x.yaml, a: y.yaml}\n")
    assert [(p.place.line, p.message.split(" is ")[0], p.hint) for p in manifest.warnings] == [
        (3, "unknown key 'Requirements'", "did you mean 'Require'?"),
        (4, "unknown key 'Versoin'", "did you mean 'Version'?"),
        (5, "Tags", "write [one]"),
        (6, "key 'Type'", "remove one"),
        (7, "'a'", "remove one"),
    ]
    assert (manifest.type, manifest.classes) == ("Library", {"a": "y.yaml"})
    assert {p.severity for p in manifest.warnings} == {"warning"}


BROKEN = """\
Format: Heat.HOT
Type: Applcation
FullName: com..example
Version: one
Name: [x]
Tags: {a: b}
Classes:
  a b: ../x.yaml
  c:
  [d]: e
Require:
  lib: '>>1'
  a/b: 1
  x: [1]
Logo: /etc/passwd
Supplier: They
UI: a\\b.yaml
Unknown: 1
"""


def test_every_problem_is_collected() -> None:
    found = problems(text=BROKEN)
    rendered = "".join(f"{p.severity} {p.code} {p.subject}: {p}\n" for p in found)
    assert rendered == (GOLDEN / "manifest_problems.txt").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the manifest is empty"),
        ("[1]", "the manifest is a list"),
        ("text", "the manifest is 'text'"),
        ("a: 1\n---\nb: 1\n", "second document"),
        ("a: [", "not valid YAML"),
        ("Type: Library", "key 'FullName' is missing"),
        ("FullName: a.b", "key 'Type' is missing"),
        ("FullName:\nType:\n", r"'FullName' is missing \(and 1 more\)"),
        (LEAST + "Meta: {[a]: b}", "a list cannot be a key"),
        (LEAST + "Meta: !yaql $.a", "unknown tag '!yaql'"),
    ],
)
def test_unusable_manifests(text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as caught:
        parse_manifest(text, "m.yaml")
    assert caught.value.position.file == "m.yaml"


@settings(max_examples=examples(200))
@given(
    st.dictionaries(
        st.sampled_from(sorted(KNOWN_KEYS)),
        st.sampled_from(["1", "x", "[a]", "{a: b}", "~", "a.b", "Library", "../x", "{a: }", "[[]]", "'>1'", "!x y"]),
    )
)
def test_any_manifest_is_read_or_refused(data: dict[str, str]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in data.items())
    try:
        manifest = parse_manifest(text, "f")
    except ManifestError as error:
        assert any(p.severity == "error" for p in error.problems)
    else:
        assert manifest.full_name and manifest.type in ("Application", "Library")
