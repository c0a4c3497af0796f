"""The rules of execution plans by version: the table of AGENT.md 4."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.agent.guest.errors import PlanError
from vetro.agent.guest.plan import format_version, read_plan

TEXT = {"Name": "run.sh", "BodyType": "Text", "Body": "echo"}
LOAD = {"Name": "tool", "Type": "Downloadable", "URL": "http://host/tool.zip"}
APP = {"Type": "Application", "EntryPoint": "f"}
CHEF = {"Type": "Chef", "EntryPoint": "book::recipe"}
PUPPET = {"Type": "Puppet", "EntryPoint": "module::class"}
BERKS = {"useBerkshelf": False}
ALL = ("2.0.0", "2.1.0", "2.2.0")


def plan(version: str, **more: Any) -> dict[str, Any]:
    return {"FormatVersion": version, "Body": "return", "Scripts": {}, "Files": {}, **more}


def code(data: dict[str, Any]) -> int:
    """The error code of a plan, 0 when it keeps the rules."""
    try:
        read_plan("id", data)
    except PlanError as error:
        assert error.message
        return error.error_code
    return 0


@pytest.mark.parametrize("version", [*ALL, "2.0.7", "2.1.99", "2.2", "2", 2.1])
def test_accepted_versions(version: Any) -> None:
    assert code(plan(version)) == 0


@pytest.mark.parametrize("version", ["2.2.1", "2.3.0", "3.0.0", "10.0.0"])
def test_newer_versions_are_not_supported(version: str) -> None:
    assert code(plan(version)) == 9


@pytest.mark.parametrize("version", ["", "two", "2.x.0", "-1", [], {}, True, "2.1.0.0", "9" * 400])
def test_malformed_versions(version: Any) -> None:
    if version is True:
        assert code(plan(version)) == 2
    else:
        with pytest.raises(PlanError) as caught:
            format_version({"FormatVersion": version})
        assert caught.value.error_code == 2


def test_without_version_it_counts_as_the_first_format() -> None:
    assert format_version({}) == (1, 0, 0)
    assert code({"Body": "return", "Scripts": ["x"], "Commands": []}) == 2


#: What the plan has, and in which of the versions 2.0, 2.1, 2.2 it is accepted.
TABLE: list[tuple[str, dict[str, Any], str]] = [
    ("Application", {"Scripts": {"s": APP}, "Files": {"f": TEXT}}, "yyy"),
    ("Application with files", {"Scripts": {"s": {**APP, "Files": ["f"]}}, "Files": {"f": TEXT}}, "yyy"),
    ("map of files", {"Scripts": {"s": {**APP, "Files": [{"f": "x"}]}}, "Files": {"f": TEXT}}, "yyy"),
    ("Chef", {"Scripts": {"s": CHEF}}, "nyy"),
    ("Puppet", {"Scripts": {"s": PUPPET}}, "nyy"),
    ("Chef without ::", {"Scripts": {"s": {**CHEF, "EntryPoint": "book"}}}, "nnn"),
    ("Puppet without ::", {"Scripts": {"s": {**PUPPET, "EntryPoint": "f"}}, "Files": {"f": TEXT}}, "nnn"),
    ("Downloadable", {"Files": {"f": LOAD}}, "nyy"),
    ("Downloadable without Name", {"Files": {"f": {"Type": "Downloadable", "URL": "http://h/x.git"}}}, "nyy"),
    ("Downloadable without URL", {"Files": {"f": {"Type": "Downloadable", "Name": "x"}}}, "nnn"),
    ("Berkshelf", {"Scripts": {"s": {**CHEF, "Options": {"useBerkshelf": True}}}}, "nny"),
    ("Berksfile", {"Scripts": {"s": {**CHEF, "Options": {"berksfilePath": "a/B"}}}}, "nny"),
    ("Berkshelf of Puppet", {"Scripts": {"s": {**PUPPET, "Options": {"useBerkshelf": True}}}}, "nnn"),
    ("Berkshelf of an Application", {"Scripts": {"s": {**APP, "Options": BERKS}}, "Files": {"f": TEXT}}, "nnn"),
    ("Berksfile outside", {"Scripts": {"s": {**CHEF, "Options": {"berksfilePath": "../B"}}}}, "nnn"),
    ("other Type", {"Scripts": {"s": {"Type": "Ansible", "EntryPoint": "f"}}, "Files": {"f": TEXT}}, "nnn"),
    ("Type is no text", {"Scripts": {"s": {"Type": ["Application"], "EntryPoint": "f"}}, "Files": {"f": TEXT}}, "nnn"),
    ("no Type", {"Scripts": {"s": {"EntryPoint": "f"}}, "Files": {"f": TEXT}}, "nnn"),
    ("no EntryPoint", {"Scripts": {"s": {"Type": "Application"}}}, "nnn"),
    ("empty EntryPoint", {"Scripts": {"s": {"Type": "Application", "EntryPoint": ""}}}, "nnn"),
    ("EntryPoint is a name, no id", {"Scripts": {"s": {**APP, "EntryPoint": "run.sh"}}, "Files": {"f": TEXT}}, "nnn"),
    ("unknown file", {"Scripts": {"s": {**APP, "Files": ["g"]}}, "Files": {"f": TEXT}}, "nnn"),
    ("map of an unknown file", {"Scripts": {"s": {**APP, "Files": [{"g": "f"}]}}, "Files": {"f": TEXT}}, "nnn"),
    ("map of two", {"Scripts": {"s": {**APP, "Files": [{"f": "f", "g": 1}]}}, "Files": {"f": TEXT}}, "nnn"),
    ("files are no list", {"Scripts": {"s": {**APP, "Files": "f"}}, "Files": {"f": TEXT}}, "nnn"),
    ("no Scripts", {"Scripts": None}, "nnn"),
    ("Scripts is a list", {"Scripts": []}, "nnn"),
    ("no Files", {"Files": None}, "nnn"),
    ("Files is a list", {"Files": []}, "nnn"),
    ("a script is text", {"Scripts": {"s": "x"}}, "nnn"),
    ("a file is text", {"Files": {"f": "x"}}, "nnn"),
    ("no Options", {}, "yyy"),
    ("Options", {"Options": {"x": 1}}, "yyy"),
    ("Options is null", {"Options": None}, "yyy"),
    ("Options is a list", {"Options": []}, "nnn"),
    ("Options of a script is text", {"Scripts": {"s": {**APP, "Options": "x"}}, "Files": {"f": TEXT}}, "nnn"),
    ("Parameters", {"Parameters": {"a": 1}}, "yyy"),
    ("Parameters is null", {"Parameters": None}, "yyy"),
    ("Parameters is a list", {"Parameters": [1]}, "nnn"),
    ("no Body", {"Body": None}, "nnn"),
    ("empty Body", {"Body": " \n\t"}, "nnn"),
    ("Body is a list", {"Body": ["return"]}, "nnn"),
    ("Base64", {"Files": {"f": {"Name": "x", "BodyType": "Base64", "Body": "AAEC\n"}}}, "yyy"),
    ("no Base64", {"Files": {"f": {"Name": "x", "BodyType": "Base64", "Body": "A!"}}}, "nnn"),
    ("other BodyType", {"Files": {"f": {"Name": "x", "BodyType": "Hex", "Body": "00"}}}, "nnn"),
    ("Body of a file is missing", {"Files": {"f": {"Name": "x", "BodyType": "Text"}}}, "nnn"),
    ("two files of one name", {"Scripts": {"s": {**APP, "Files": ["f", "g"]}}, "Files": {"f": TEXT, "g": TEXT}}, "nnn"),
    ("other Action", {"Action": "Delete"}, "nnn"),
    ("Action", {"Action": "Execute", "Name": "x", "Version": "1.0.0", "ID": "x", "Stamp": 1}, "yyy"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "more", "accepted"), TABLE, ids=[row[0] for row in TABLE])
def test_rules_by_version(what: str, more: dict[str, Any], accepted: str) -> None:
    assert [code(plan(version, **more)) for version in ALL] == [0 if mark == "y" else 2 for mark in accepted]


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "..",
        ".",
        "",
        " ",
        "a/..",
        "/",
        "a\0b",
        None,
        5,
        "x" * 300,
        "a/" * 1500 + "b",
    ],
)
def test_names_stay_in_the_folder(name: Any) -> None:
    assert code(plan("2.1.0", Files={"f": {**TEXT, "Name": name}})) == 2
    if name:  # without one, the address gives the name
        assert code(plan("2.1.0", Files={"f": {**LOAD, "Name": name}})) == 2


@pytest.mark.parametrize("name", ["a/b", "../x", "..", ".", ".content", "/x", ""])
def test_names_of_scripts_are_plain(name: str) -> None:
    assert code(plan("2.0.0", Scripts={name: APP}, Files={"f": TEXT})) == 2


def test_what_a_plan_holds() -> None:
    data = plan(
        "2.1.0",
        Parameters={"a": {"b": 1}},
        Scripts={"s": {**APP, "Files": ["g", "f", "g"], "Options": {"captureStdout": False}}},
        Files={"f": {**TEXT, "Name": "./sub//run.sh"}, "g": {"Name": "data", "BodyType": "Base64", "Body": "AAH/"}},
    )
    found = read_plan("the id", data)
    assert (found.id, found.body, found.parameters) == ("the id", "return", {"a": {"b": 1}})
    script = found.scripts["s"]
    assert (script.type, script.entry_point, script.options) == ("Application", "f", {"captureStdout": False})
    assert [(file.id, file.name, file.content) for file in script.files] == [
        ("f", "sub/run.sh", b"echo"),
        ("g", "data", b"\0\1\xff"),
    ]
