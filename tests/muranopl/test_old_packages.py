"""What packages from before formats 1.3 and 1.4 got away with, and still do."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl import Engine
from vetro.muranopl.errors import ClassNotFound, DslSyntaxError
from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes


def package(name: str, format: str, text: str, **more: Any) -> Any:
    return memory_package({"name": name, "format": format, "classes": {name: text}, **more})


def run(*packages: Any) -> Any:
    session = Engine(packages).session()
    session.load({"Objects": {"?": {"type": packages[0].name, "id": "r"}}})
    return session.call("run", public_only=False)


ARGUMENTS = """
Name: a.Main
Methods:
  add:
    Arguments:
      x: {Contract: $.int()}
      y: {Contract: $.int()}
    Body: [{Return: $x - $y}]
  run:
    Body: [{Return: !yaql "$.add(5, 3)"}]
"""


@pytest.mark.parametrize("format", ["1.0", "1.2"])
def test_arguments_may_be_one_mapping_in_its_order(format: str) -> None:
    assert run(package("a.Main", format, ARGUMENTS)) == 2


@pytest.mark.parametrize("format", ["1.3", "1.4"])
def test_later_formats_want_a_list(format: str) -> None:
    with pytest.raises(DslSyntaxError, match="several arguments in one mapping"):
        run(package("a.Main", format, ARGUMENTS))


USER = "Name: a.Main\nMethods:\n  run: {Body: [{Return: !yaql \"new('b.Other').name()\"}]}\n"
OTHER = "Name: b.Other\nMethods:\n  name: {Body: [{Return: found}]}\n"


def test_without_requirements_every_class_is_visible() -> None:
    assert run(package("a.Main", "1.0", USER), package("b.Other", "1.3", OTHER)) == "found"


def test_a_package_that_states_requirements_sees_only_them() -> None:
    third = package("c.Third", "1.0", "Name: c.Third")
    with pytest.raises(ClassNotFound):
        run(package("a.Main", "1.0", USER, require={"c.Third": "0"}), package("b.Other", "1.3", OTHER), third)


def test_from_format_1_3_on_requirements_must_be_stated() -> None:
    with pytest.raises(ClassNotFound):
        run(package("a.Main", "1.3", USER), package("b.Other", "1.3", OTHER))


RENAMED = 'Namespaces: {=: somewhere.else}\nName: Other\nMethods:\n  run: {Body: [{Return: !yaql "name(:a.Main)"}]}\n'


def test_the_manifest_names_the_class_of_a_file_with_another_name() -> None:
    body = RENAMED.replace('!yaql "name(:a.Main)"', "here")
    old = package("a.Main", "1.3", body)
    assert run(old) == "here"
    (finding,) = check_classes(old)
    assert (finding.code, finding.severity) == ("PKG114", "warning")


def test_from_format_1_4_on_the_names_must_agree() -> None:
    new = package("a.Main", "1.4", RENAMED)
    with pytest.raises(ClassNotFound):
        run(new)
    assert [f.severity for f in check_classes(new) if f.code == "PKG114"] == ["error"]


def test_old_constructors_may_call_those_of_their_parents() -> None:
    text = """
Name: a.Main
Properties: {x: {Contract: $.int(), Usage: Runtime}}
Methods:
  initialize: {Body: [$.super($.initialize()), {$.x: 1}]}
  run: {Body: [{Return: $.x}]}
"""
    assert run(package("a.Main", "1.0", text)) == 1
