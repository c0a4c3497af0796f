"""UI definitions in two versions: what becomes of answers that were kept."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from vetro.forms.compatibility import compare_versions
from vetro.packages.compat.findings import Level
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.packages.manifest import parse_manifest

UI = """\
Version: 2
Application:
  ?: {type: a.App}
  port: $.appConfiguration.port
  title: $.appConfiguration.get(title)
Forms:
  - appConfiguration:
      fields:
        - {name: title, type: string, required: false, maxLength: 20}
        - {name: port, type: integer, minValue: 1, maxValue: 9000}
        - {name: kind, type: choice, choices: [[a, A], [b, B]]}
        - {name: key, type: string, regexpValidator: '^[a-z]{1,8}$'}
        - name: word
          type: string
          validators:
            - expr: len($) < 9
              message: short
        - {name: flavor, type: flavor, requirements: {min_vcpus: 1}}
"""


def package(ui: str | None, version: str = "1.0.0") -> Any:
    manifest = {"Format": "1.4", "Type": "Application", "FullName": "a.App", "Version": version,
                "Classes": {"a.App": "App.yaml"}}  # fmt: skip
    files: dict[str, str | bytes] = {
        "manifest.yaml": yaml.safe_dump(manifest),
        "Classes/App.yaml": "Namespaces: {=: a, std: io.murano}\nName: App\nExtends: std:Application\n",
    }
    if ui is not None:
        files["UI/ui.yaml"] = ui
    tree = MemoryTree(files, f"a.App-{version}")
    return default_registry().load(tree, parse_manifest(tree.read("manifest.yaml"), tree.file_id("manifest.yaml")))


def findings(old: str | None, new: str | None) -> list[tuple[str, str, Level, str | None]]:
    done = compare_versions(package(old), package(new, "2.0.0"))
    return [(one.element, one.code, one.level, one.witness) for one in done.findings]


MAJOR, MINOR, UNKNOWN = Level.MAJOR, Level.MINOR, Level.UNKNOWN
FORM = "form:appConfiguration"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("name: port,", "name: number,", [("port", "CMP170", MAJOR, None), ("number", "CMP119", MINOR, None)]),
        ("name: key,", "name: keys,", [("key", "CMP170", MINOR, None), ("keys", "CMP119", MINOR, None)]),
        ("required: false", "required: true", [("title", "CMP171", MAJOR, None)]),
        ("required: false", "required: true, initial: x",
         [("title", "CMP172", MAJOR, '""'), ("title", "CMP116", MINOR, None)]),
        ("maxLength: 20", "maxLength: 19", [("title", "CMP172", MAJOR, f'"{"a" * 20}"')]),
        ("maxLength: 20", "maxLength: 21", [("title", "CMP174", MINOR, None)]),
        ("maxLength: 20", "maxLength: 20, label: Name", []),
        ("minValue: 1", "minValue: 5", [("port", "CMP172", MAJOR, '"1"')]),
        ("minValue: 1", "minValue: 0", [("port", "CMP174", MINOR, None)]),
        ("[b, B]", "[c, C]", [("kind", "CMP172", MAJOR, '"b"')]),
        ("[b, B]", "[b, B], [c, C]", [("kind", "CMP174", MINOR, None)]),
        ("{1,8}", "{1,5}", [("key", "CMP172", MAJOR, None)]),
        ("{1,8}", "{1,9}", [("key", "CMP174", MINOR, None)]),
        ("len($) < 9", "len($) < 8", [("word", "CMP172", MAJOR, '"10.0.0.1"')]),
        ("len($) < 9", "len($) <= 9", [("word", "CMP173", UNKNOWN, None)]),
        ("min_vcpus: 1", "min_vcpus: 2", [("flavor", "CMP173", UNKNOWN, None)]),
        ("name: port, type: integer, minValue: 1, maxValue: 9000", "name: port, type: string, required: false",
         [("port", "CMP173", UNKNOWN, None)]),
        ("name: title, type: string, required: false, maxLength: 20", "name: title, type: integer, required: false",
         [("title", "CMP172", MAJOR, '" "')]),
        ("name: port, type: integer", "name: port, initial: 7, type: integer", [("port", "CMP116", MINOR, None)]),
    ],
)  # fmt: skip
def test_a_change_of_a_field(before: str, after: str, expected: list[Any]) -> None:
    assert before in UI
    found = findings(UI, UI.replace(before, after, 1))
    for (element, code, level, witness), (name, *wanted) in zip(found, expected, strict=True):
        assert (element, code, level) == (f"{FORM}.{name}", *wanted[:2])
        assert wanted[2] is None or witness == wanted[2]
        assert (level is MAJOR and code == "CMP172") == (witness is not None)


def test_a_definition_that_comes_goes_or_has_another_version() -> None:
    assert findings(UI, None) == [("a.App", "CMP175", MAJOR, None)]
    assert findings(None, UI) == [("a.App", "CMP175", MINOR, None)]
    assert findings(UI, UI.replace("Version: 2", "Version: 2.3")) == [("form", "CMP176", MINOR, None)]
    assert [one[1:3] for one in findings(UI, "Forms: 7\n")] == [("CMP173", UNKNOWN)]
    assert findings("Forms: 7\n", UI) == []


def test_conditions_of_a_form_and_of_other_answers_are_unknown() -> None:
    rule = "      validators:\n        - expr: $.appConfiguration.port > 5\n          message: m\n      fields:\n"
    assert findings(UI, UI.replace("      fields:\n", rule)) == [(FORM, "CMP173", UNKNOWN, None)]
    moved = UI.replace("required: false,", "required: $.appConfiguration.port > 7,")
    assert findings(UI, moved) == [(f"{FORM}.title", "CMP173", UNKNOWN, None)]


def test_validators_that_cost_too_much_are_unknown() -> None:
    endless = "range(0, 9999).any(range(0, 9999).any($ < 0)) or len($) < {}"
    one, other = (UI.replace("len($) < 9", endless.format(number)) for number in (9, 8))
    assert findings(one, other) == [(f"{FORM}.word", "CMP173", UNKNOWN, None)]
