"""Execution plans made of templates and files of packages (AGENT.md 5, 6)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from vetro.library.natives.plans import PlanError, build_plan, empty_plan
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.packages import memory_package

FILES: dict[str, Any] = {
    "scripts/run.sh": "#!/bin/sh\r\necho\n",
    "scripts/core/deep.sh": "deep",
    "scripts/data.bin": "\x00\x01binary",
    "scripts/site.pp": "class {}",
}
PACKAGE = memory_package({"name": "shop", "format": "1.4", "classes": {}, "resources": FILES})


def ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"id{next(numbers)}"


def build(template: dict[str, Any]) -> dict[str, Any]:
    return build_plan({"FormatVersion": "2.0.0", **template}, PACKAGE, ids(), 5)


def script(entry: Any = "run.sh", *files: Any, type: str = "Application", **more: Any) -> dict[str, Any]:
    return {"Scripts": {"s": {"Type": type, "EntryPoint": entry, "Files": list(files)}}, **more}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode() + "\n"


RUN = {"Name": "run.sh", "BodyType": "Text", "Body": "#!/bin/sh\necho\n"}
GIT = "git://example.org/modules/apache.git"


def test_a_whole_plan() -> None:
    template = {
        "FormatVersion": "2.1.0", "Version": "1.0.0", "Name": "n", "Parameters": {"p": 1}, "Body": "return s()",
        "Scripts": {"s": {"Type": "Application", "EntryPoint": "run.sh", "Options": {"captureStdout": True}}},
    }  # fmt: skip
    plan = build(template)
    assert plan == {
        **template,
        "ID": "id1",
        "Stamp": 5,
        "Action": "Execute",
        "Files": {"id2": RUN},
        "Scripts": {"s": {**template["Scripts"]["s"], "EntryPoint": "id2", "Files": []}},  # type: ignore[index]
    }


@pytest.mark.parametrize(
    ("entry", "made"),
    [
        ("core/deep.sh", {"Name": "core/deep.sh", "BodyType": "Text", "Body": "deep"}),
        ("<data.bin>", {"Name": "data.bin", "BodyType": "Base64", "Body": encoded(FILES["scripts/data.bin"])}),
        ("< site.pp >", {"Name": "site.pp", "BodyType": "Base64", "Body": encoded("class {}")}),
        (
            "https://example.org/a/b.tgz",
            {"Name": "b.tgz", "URL": "https://example.org/a/b.tgz", "Type": "Downloadable"},
        ),
        (GIT, {"Name": "apache.git", "URL": GIT, "Type": "Downloadable"}),
        ({"x.pp": "site.pp"}, {"Name": "x.pp", "BodyType": "Text", "Body": "class {}"}),
        ({"x.pp": "<site.pp>"}, {"Name": "x.pp", "BodyType": "Base64", "Body": encoded("class {}")}),
        ({"apache": GIT}, {"Name": "apache", "URL": GIT, "Type": "Downloadable"}),
    ],
)
def test_forms_of_entries(entry: Any, made: dict[str, Any]) -> None:
    plan = build(script("run.sh", entry))
    assert plan["Scripts"]["s"]["Files"] == ["id3"]
    assert plan["Files"] == {"id2": RUN, "id3": made}
    as_entry_point = build(script(entry))
    assert as_entry_point["Scripts"]["s"] == {"Type": "Application", "EntryPoint": "id2", "Files": []}
    assert as_entry_point["Files"] == {"id2": made}


GIVEN = {"f": {"Name": "run.sh", "BodyType": "Text", "Body": "given"}}


@pytest.mark.parametrize("entry", ["run.sh", {"run.sh": "site.pp"}, "f", "<run.sh>"])
def test_known_names_are_used_again(entry: Any) -> None:
    plan = build(script("run.sh", entry, Files=GIVEN))
    assert (plan["Scripts"]["s"]["EntryPoint"], plan["Scripts"]["s"]["Files"]) == ("f", ["f"])
    assert plan["Files"] == GIVEN


def test_scripts_share_files() -> None:
    one = {"Type": "Application", "EntryPoint": "run.sh", "Files": ["<data.bin>"]}
    plan = build({"Scripts": {"a": dict(one), "b": dict(one)}})
    assert plan["Scripts"]["a"] == plan["Scripts"]["b"]
    assert len(plan["Files"]) == 2


@pytest.mark.parametrize("kind", ["Puppet", "Chef"])
def test_entry_points_of_other_types_stay(kind: str) -> None:
    plan = build(script("apache::server", {"apache": GIT}, type=kind))
    assert plan["Scripts"]["s"]["EntryPoint"] == "apache::server"
    assert plan["Scripts"]["s"]["Files"] == ["id2"]


def test_files_as_a_mapping_of_names() -> None:
    plan = build({"Scripts": {"s": {"Type": "Application", "EntryPoint": "run.sh", "Files": {"x": "site.pp"}}}})
    assert [plan["Files"][i]["Name"] for i in plan["Scripts"]["s"]["Files"]] == ["x"]


@pytest.mark.parametrize("entry", ["nope.sh", "<nope.sh>", {"x": "nope.sh"}])
def test_missing_files_are_named_with_package_and_script(entry: Any) -> None:
    with pytest.raises(ResourceNotFound, match=r"package 'shop' has no resource 'scripts/nope\.sh'.*script 's'"):
        build(script("run.sh", entry))


@pytest.mark.parametrize("path", ["../../manifest.yaml", "<../../manifest.yaml>", "/etc/passwd"])
def test_files_stay_in_the_package(path: str) -> None:
    with pytest.raises(ResourceNotFound):
        build(script(path))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"Scripts": {"s": {"Type": "Application"}}}, "script 's' .* has no EntryPoint"),
        ({"Scripts": ["s"]}, "Scripts .* must be a mapping"),
        ({"Scripts": {"s": "x"}}, "script 's' .* must be a mapping"),
        ({"Files": []}, "Files .* must be a mapping"),
        (script("run.sh", 5), "names a file as 5"),
        (script("run.sh", {"a": "b", "c": "d"}), "names a file as"),
        ({"Scripts": {"s": {"EntryPoint": "run.sh", "Files": "run.sh"}}}, "must be a list"),
    ],
)
def test_malformed_templates(template: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        build(template)


def test_given_ids_are_replaced_and_actions_kept() -> None:
    plan = build({"ID": "old", "Stamp": 1, "Action": "Other"})
    assert (plan["ID"], plan["Stamp"], plan["Action"]) == ("id1", 5, "Other")


@pytest.mark.parametrize("version", [{}, {"FormatVersion": "1.0.0"}])
def test_plans_of_the_first_format(version: dict[str, str]) -> None:
    template = {**version, "Scripts": ["run.sh", "core/deep.sh"], "Commands": [{"Name": "C"}], "RebootOnCompletion": 0}
    made = build_plan(template, PACKAGE, ids(), 5)
    scripts = [base64.b64encode(FILES[f"scripts/{name}"].encode()).decode() for name in template["Scripts"]]  # type: ignore[attr-defined]
    assert made == {**template, "Scripts": scripts, "Stamp": 5}


def test_malformed_plans_of_the_first_format() -> None:
    with pytest.raises(PlanError, match="must be a list of file names"):
        build_plan({"Scripts": {"a": 1}}, PACKAGE, ids(), 5)
    with pytest.raises(ResourceNotFound, match="scripts/nope"):
        build_plan({"Scripts": ["nope"]}, PACKAGE, ids(), 5)


def test_the_plan_that_does_nothing() -> None:
    plan = empty_plan(ids(), 7)
    assert (plan["Body"], plan["Scripts"], plan["Files"], plan["ID"], plan["Stamp"]) == ("return", {}, {}, "id1", 7)
