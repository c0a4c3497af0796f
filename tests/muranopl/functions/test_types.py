"""type(), typeinfo(), is, names, cast(), super(), psuper(), pselect()."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import ClassNotFound
from vetro.yaql.errors import UnresolvedCall, kind_of
from vetro.yaql.values import FDict

CLASSES = {
    "A": "Methods:\n  who: {Body: [{Return: a}]}\n",
    "B": "Methods:\n  who: {Body: [{Return: b}]}\n  st: {Usage: Static, Body: [{Return: static}]}\n",
    "Other": "Methods: {}\n",
}
REST = "Extends: [A, B]\n"


def evaluate(expression: str, **more: Any) -> Any:
    body = '- Return: !yaql "' + expression + '"'
    return Host().run(body, rest=REST, classes=CLASSES, **more)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("$ is Main", True),
        ("$ is A", True),
        ("$ is Other", False),
        ("null is A", False),
        ("$ is 't.B'", True),
        ("$ is :B", True),
        ("$ is std:Object", True),
        ("$ is typeinfo(A)", True),
        ("cast($, A) is B", False),
        ("new(Other) is type('t.Other')", True),
        ("isObject($)", True),
        ("isObject(cast($, A))", True),
        ("[null, 5, {}, :A].select(isObject($))", [False, False, False, True]),
        ("type(null)", None),
        ("typeinfo(null)", None),
        ("type($) = :Main", True),
        ("type(cast($, A)) = :A", True),
        ("type(typeinfo($)) = type($)", True),
        ("[typeinfo(A).name, typeinfo(:A).name, typeinfo('t.A').name, typeinfo(new(A)).name]", ["t.A"] * 4),
        ("typeinfo(typeinfo(A)) = typeinfo(A)", True),
        (":B.st()", "static"),
        ("type('t.B').st()", "static"),
        ("std:Object = type('io.murano.Object')", True),
        ("cast($, A).who()", "a"),
        ("cast($, :B).who()", "b"),
        ("cast($, 't.B').who()", "b"),
        ("cast($, A) = $", False),
        ("cast($, A) = cast($, A)", True),
        ("id(cast($, A)) = id($)", True),
        ("cast($, A, '0.0.0').who()", "a"),
        ("super($).select($.who())", ["a", "b"]),
        ("super($, $.who())", ["a", "b"]),
        ("psuper($, $.who())", ["a", "b"]),
        ("psuper($).len()", 2),
        ("super(new(A)).len()", 1),
        ("[1, 2, 3].pselect($ * 2)", [2, 4, 6]),
        ("range(3).pselect($)", [0, 1, 2]),
        ("[].pselect($)", []),
    ],
)
def test_expressions(expression: str, wanted: Any) -> None:
    assert evaluate(expression) == wanted


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("5 is A", "unresolved-call"),
        ("$ is Missing", "class-not-found"),
        ("cast($, Other)", "class-not-found"),
        ("cast($, Missing)", "class-not-found"),
        ("cast($, A, '1')", "class-not-found"),
        ("cast(null, A)", "unresolved-call"),
        ("type(5)", "unresolved-call"),
        ("typeinfo(5)", "unresolved-call"),
        ("nope:X", "key-error"),
        (":Missing", "class-not-found"),
        ("$.cast(A)", "unresolved-call"),
        ("$.super()", "unresolved-call"),
    ],
)
def test_errors(expression: str, kind: str) -> None:
    with pytest.raises(Exception) as caught:
        evaluate(expression)
    assert kind_of(caught.value) == kind


def test_old_formats_give_names_and_have_methods() -> None:
    assert evaluate("[type($), type(null)]", format="1.3") == ["t.Main", None]
    assert evaluate("type('t.B').st()", format="1.3") == "static"
    with pytest.raises(UnresolvedCall):
        evaluate("$.type()", format="1.3")
    old = "[$.type(), $.id(), $.cast(A).who(), $.super().len(), $.super($.who()), $.psuper($.who())]"
    assert evaluate(old, format="1.0") == ["t.Main", "root", "a", 2, ["a", "b"], ["a", "b"]]


def test_a_cast_error_says_what_is_missing() -> None:
    with pytest.raises(ClassNotFound, match=r"'t\.Other'") as caught:
        evaluate("cast($, Other)")
    assert caught.value.hint == "t.Main does not derive from it"


def test_branches_of_pselect_run_side_by_side() -> None:
    host = Host()
    before = host.clock.now()
    rest = (
        "  slow:\n    Meta: {'io.murano.metadata.engine.Synchronize': {onThis: false}}\n"
        "    Arguments: [{n: {Contract: $}}]\n    Body: [sleep(2), {Return: $n}]\n"
    )
    assert host.run('- Return: !yaql "[1, 2, 3].pselect($this.slow($))"', rest=rest) == [1, 2, 3]
    assert host.clock.now() - before == pytest.approx(2)


def test_values_of_super_are_frozen() -> None:
    host = Host()
    host.load(
        'Extends: A\nMethods:\n  run: {Scope: Public, Body: [{Return: !yaql "super($, {k => $.who()})"}]}',
        classes=CLASSES,
    )
    assert host.session.call("run") == (FDict(k="a"),)
