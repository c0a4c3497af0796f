"""Reflection values: attributes, access rules, equality, and what `describe` says of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import ContractViolation, NoWriteAccess, PropertyNotFound, UninitializedProperty
from vetro.muranopl.objects.plain import describe
from vetro.yaql.errors import UnresolvedCall

MAIN = """
Extends: Base
Properties:
  a: {Contract: $.int(), Usage: Out, Default: 1}
  b: {Contract: $.int(), Default: 2}
  s: {Contract: $.int(), Usage: Static, Default: 3}
  late: {Contract: $, Usage: Runtime}
Methods:
  .init: {Body: }
  __hidden: {Body: }
  f:
    Arguments:
      - x: {Contract: $.int()}
      - y: {Contract: $.int(), Default: null}
      - r: {Contract: $, Usage: VarArgs}
      - k: {Contract: $, Usage: KwArgs}
    Body: [{Return: !yaql "[main, $x, $y, $r, $k]"}]
  st: {Usage: Static, Arguments: [{n: {Contract: $}}], Body: [{Return: $n}]}
  pub: {Scope: Public, Body: }
  p: {Arguments: [{n: {Contract: $}}], Body: [{Return: !yaql "typeinfo($).properties.where($.name = $n).single()"}]}
  m: {Arguments: [{n: {Contract: $}}], Body: [{Return: !yaql "typeinfo($).methods.where($.name = $n).single()"}]}
  get: {Scope: Public, Arguments: [{e: {Contract: $}}], Body: }
"""
CLASSES = {
    "Base": "Methods:\n  f: {Arguments: [{x: {Contract: $}}], Body: [{Return: base}]}\n  g: {Body: }\n",
    "Other": "Methods:\n  poke:\n    Arguments: [o: {Contract: $}, p: {Contract: $}]\n    Body: $p.setValue($o, 9)\n",
    "M": "Usage: Meta\nCardinality: Many\nApplies: [Type, Method]\nInherited: true\n",
}


def evaluate(expression: str, **more: Any) -> Any:
    host = Host()
    text = expression.replace("'", "''")
    host.load(MAIN + f"  run: {{Scope: Public, Body: [{{Return: !yaql '{text}'}}]}}\n", classes=CLASSES, **more)
    return host.call("run")


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("[typeinfo($).name, typeinfo($).usage, typeinfo(M).usage]", ["t.Main", "Class", "Meta"]),
        ("typeinfo($).ancestors.name", ["t.Base", "io.murano.Object"]),
        ("[typeinfo(M).cardinality, typeinfo(M).targets, typeinfo(M).inherited]", ["Many", ["Method", "Type"], True]),
        ("typeinfo($).type = :Main", True),
        ("typeinfo($).type.st(4)", 4),
        (
            "typeinfo($).properties.select([$.name, $.usage, $.hasDefault, $.declaringType.name])",
            [
                ["a", "Out", True, "t.Main"],
                ["b", "In", True, "t.Main"],
                ["s", "Static", True, "t.Main"],
                ["late", "Runtime", False, "t.Main"],
            ],
        ),
        (
            "typeinfo($).methods.name.where(not $.startsWith(g) and $ != setAttr).orderBy($)",
            [
                "f",
                "m",
                "p",
                "pub",
                "run",
                "st",
            ],
        ),
        (
            "typeinfo($).methods.where($.name in [f, st, pub]).select([$.name, $.usage, $.scope])",
            [
                ["f", "Runtime", "Session"],
                ["st", "Static", "Session"],
                ["pub", "Runtime", "Public"],
            ],
        ),
        (
            "$.m(f).arguments.select([$.name, $.usage, $.hasDefault])",
            [
                ["x", "Standard", False],
                ["y", "Standard", True],
                ["r", "VarArgs", False],
                ["k", "KwArgs", False],
            ],
        ),
        ("[$.m(f).declaringType.name, $.m(g).declaringType.name]", ["t.Main", "t.Base"]),
        ("$.m(f).arguments[0].declaringMethod = $.m(f)", True),
        (
            "$.m(getAttr).arguments.select([$.name, $.usage, $.hasDefault])",
            [
                ["name", "Standard", False],
                ["default", "Standard", True],
                ["owner", "Standard", True],
            ],
        ),
        ("$.m(getAttr).usage", "Runtime"),
        ("typeinfo('io.murano.system.GC').methods.where($.name = collect).single().usage", "Static"),
        (
            "typeinfo('io.murano.system.Logger').methods.where($.name = info).single().arguments.usage",
            [
                "Standard",
                "VarArgs",
                "KwArgs",
            ],
        ),
        ("$.m(f).invoke($, 1, 2, 3, z => 4)", ["main", 1, 2, [3], {"z": 4}]),
        ("typeinfo(Base).methods.where($.name = f).single().invoke($, 1)", "base"),
        ("$.m(st).invoke(null, 5)", 5),
        ("[$.p(b).getValue($), $.p(s).getValue(null), $.p(s).getValue($)]", [2, 3, 3]),
        ("[typeinfo($).package.name, typeinfo($).package.version.major]", ["t", 0]),
        ("typeinfo($).package.types.name.orderBy($)", ["t.Base", "t.M", "t.Main", "t.Other"]),
        ("typeinfo($).package = typeinfo(Base).package", True),
        ("typeinfo($) = typeinfo(Main)", True),
        ("typeinfo($) = typeinfo(Base)", False),
        ("typeinfo($).version = typeinfo(Base).version", True),
        ("{typeinfo($) => 1}.get(typeinfo(Main))", 1),
    ],
)
def test_attributes(expression: str, wanted: Any) -> None:
    assert evaluate(expression) == wanted


def test_versions() -> None:
    expression = "let(v => typeinfo($).version) -> [$v.major, $v.minor, $v.patch, $v.prerelease, $v.build]"
    assert evaluate(expression, version="2.3.4-rc.1+b7") == [2, 3, 4, ["rc", "1"], ["b7"]]


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("typeinfo($).nope", PropertyNotFound),
        ("typeinfo($).cardinality", PropertyNotFound),
        ("typeinfo($).nope()", UnresolvedCall),
        ("$.p(b).setValue($, 5)", NoWriteAccess),
        ("$.p(a).setValue($, abc)", ContractViolation),
        ("$.p(b).getValue(new(Base))", UnresolvedCall),
        ("$.p(b).getValue(null)", UnresolvedCall),
        ("$.p(late).getValue($)", UninitializedProperty),
        ("$.m(f).invoke(null, 1)", Exception),
        ("$.m(f).invoke(new(Base), 1)", UnresolvedCall),
        ("new(Other).poke($, $.p(a))", NoWriteAccess),
    ],
)
def test_errors(expression: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(expression)


def test_set_value_obeys_contracts() -> None:
    assert evaluate("[$.p(a).setValue($, '10'), $.a, $.p(s).setValue(null, '30'), :Main.s]") == [None, 10, None, 30]


def test_unknown_attributes_are_listed_in_the_hint() -> None:
    with pytest.raises(PropertyNotFound) as caught:
        evaluate("typeinfo($).version.mayor")
    assert caught.value.hint == "it has build, major, minor, patch, prerelease"


def test_ambiguous_members_are_listed_with_every_declaration() -> None:
    host = Host()
    two = {name: f"Methods:\n  f: {{Body: [{{Return: {name}}}]}}\n" for name in ("A", "B")}
    body = '- Return: !yaql "typeinfo($).methods.where($.name = f).select($.declaringType.name).orderBy($)"'
    assert host.run(body, rest="Extends: [A, B]\n", classes=two) == ["t.A", "t.B"]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("$", ("object", "root", "t.Main")),
        ("cast($, Base)", ("object", "root", "t.Base")),
        (":Base", ("type-object", "t.Base")),
        ("typeinfo($)", ("typeinfo", "t.Main")),
        ("$.m(f)", ("method", "f")),
        ("$.p(a)", ("property", "a")),
        ("$.m(f).arguments[0]", ("argument", "x")),
        ("typeinfo($).package", ("package", "t")),
        ("typeinfo($).version", ("version", "0.0.0")),
        ("5", None),
        ("{a => 1}", None),
    ],
)
def test_describe(expression: str, wanted: tuple[str, ...] | None) -> None:
    host = Host()
    host.load(MAIN + f"  run: {{Scope: Public, Body: [{{Return: !yaql '{expression}'}}]}}\n", classes=CLASSES)
    assert describe(host.session.call("run")) == wanted


def test_values_print_what_they_stand_for() -> None:
    host = Host()
    host.load(MAIN, classes=CLASSES)
    kind = host.session.types.find("t.Main")
    from vetro.muranopl.types.reflection import (
        ArgumentInfo,
        MethodInfo,
        PackageInfo,
        PropertyInfo,
        TypeInfo,
        VersionInfo,
    )

    method = kind.methods["f"]
    shown = [
        TypeInfo(kind), MethodInfo(method), PropertyInfo(kind.properties["a"]), PackageInfo(kind),
        ArgumentInfo(method, method.arguments[0]), VersionInfo(kind.version),
    ]  # fmt: skip
    assert [repr(value) for value in shown] == [
        "<typeinfo t.Main/0.0.0>",
        "<method t.Main::f>",
        "<property t.Main.a>",
        "<package t/0.0.0>",
        "<argument t.Main::f(x)>",
        "<version 0.0.0>",
    ]
    assert str(TypeInfo(kind)) == "t.Main" and str(VersionInfo(kind.version)) == "0.0.0"
