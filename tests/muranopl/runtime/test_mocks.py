"""inject(), originalMethod(), withOriginal(): mocks of the test runner (SEMANTICS 18)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import ContractViolation, InvalidOperation, MethodNotFound
from vetro.yaql.errors import UnresolvedCall

CLASSES = {
    "Item": """
Methods:
  f: {Arguments: [{x: {Contract: $}}], Body: [{Return: $x}]}
  g: {Arguments: [{x: {Contract: $.int()}}], Body: [{Return: $.f($x) + 1}]}
  st: {Usage: Static, Arguments: [{x: {Contract: $}}], Body: [{Return: $x}]}
  viaStatic: {Body: [{Return: $.st(1)}]}
  where: {Body: [$y: call side, {Return: $.f($y)}]}
  inLambda: {Body: [$y: call side, {Return: !yaql "[1].select($this.f($y)).single()"}]}
  tag: {Body: [{Return: tagged}]}
""",
    "Sub": "Extends: Item\n",
    "Fake": "Methods:\n  answer: {Arguments: [{x: {Contract: $.int()}}], Body: [{Return: $x * 10}]}\n",
}


def run(*lines: str, mocking: bool = True) -> Any:
    body = "\n".join(f"- {line}" for line in lines)
    return Host(mocking=mocking).run(body, classes=CLASSES)


@pytest.mark.parametrize(
    ("inject", "expression", "wanted"),
    [
        ("inject(Item, f, 42)", "new(Item).f(1)", 42),
        ("inject('t.Item', f, 42)", "new(Item).f(1)", 42),
        ("inject(:Item, f, 42)", "new(Item).f(1)", 42),
        ("inject(new(Item), f, 42)", "new(Item).f(1)", 42),
        ("inject(Item, f, 42)", "new(Item).g(1)", 43),
        ("inject(Item, f, 42)", "new(Sub).f(1)", 1),
        ("inject(Sub, f, 42)", "new(Item).f(1)", 1),
        ("inject(Item, f, new(Fake), answer)", "new(Item).f(4)", 40),
        ("inject(Item, f, new(Fake), answer)", "new(Item).f(x => 4)", 40),
        ("inject(Item, f, originalMethod() * 100)", "new(Item).f(4)", 400),
        ("inject(Item, f, originalMethod() * 100)", "new(Item).f(x => 4)", 400),
        ("inject(Item, f, originalMethod(7) * 100)", "new(Item).f(4)", 700),
        ("inject(Item, f, originalMethod(x => 8) * 100)", "new(Item).f(4)", 800),
        ("inject(Item, f, $outer)", "new(Item).f(1)", "of the test"),
        ("inject(Item, f, id($))", "new(Item).f(1)", "root"),
        ("inject(Item, st, 42)", "new(Item).st(1)", 42),
        ("inject(Item, st, 42)", ":Item.st(1)", 42),
        ("inject(Item, st, 42)", "new(Item).viaStatic()", 42),
        ("inject(Item, f, withOriginal(o => $y) -> [$o, $outer])", "new(Item).where()", ["call side", "of the test"]),
        ("inject(Item, f, withOriginal(o => $y) -> $o)", "new(Item).inLambda()", "call side"),
        ("inject(Item, f, withOriginal(me => $) -> $me.tag())", "new(Item).where()", "tagged"),
        (
            "inject(Item, f, withOriginal(me => $this) -> [$me.tag(), id($this)])",
            "new(Item).where()",
            ["tagged", "root"],
        ),
    ],
)
def test_mocks(inject: str, expression: str, wanted: Any) -> None:
    assert run("$outer: of the test", f'!yaql "{inject}"', f'Return: !yaql "{expression}"') == wanted


def test_existing_objects_are_affected_and_the_last_mock_wins() -> None:
    lines = (
        "$o: new(Item)",
        "inject(Item, f, 1)",
        "$a: $o.f(0)",
        "inject(Item, f, originalMethod() + 5)",
        "Return: [$a, $o.f(0)]",
    )
    assert run(*(f'!yaql "{x}"' if x.startswith("inject") else x for x in lines)) == [1, 5]


def test_mocks_nest() -> None:
    lines = ('!yaql "inject(Item, f, originalMethod() + 1)"', '!yaql "inject(Item, g, originalMethod() * 10)"')
    assert run(*lines, "Return: new(Item).g(1)") == 30


def test_a_mock_lives_as_long_as_its_session() -> None:
    assert run('!yaql "inject(Item, f, 42)"', "Return: new(Item).f(1)") == 42
    assert run("Return: new(Item).f(1)") == 1


def test_the_mock_of_a_method_checks_its_own_arguments() -> None:
    with pytest.raises(ContractViolation) as caught:
        run('!yaql "inject(Item, f, new(Fake), answer)"', "Return: new(Item).f(abc)")
    assert caught.value.location == "t.Fake::answer(x)"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("inject(Item, nope, 1)", MethodNotFound),
        ("inject(Item, f, new(Fake), nope)", MethodNotFound),
        ("inject(Item, f, 5, nope)", MethodNotFound),
        ("originalMethod()", InvalidOperation),
        ("withOriginal(a => 1) -> $a", InvalidOperation),
        ("inject(Item)", UnresolvedCall),
    ],
)
def test_errors(line: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(f'!yaql "{line}"')


@pytest.mark.parametrize("line", ["inject(Item, f, 1)", "originalMethod()", "withOriginal(a => 1) -> $a"])
def test_only_the_test_runner_has_mocks(line: str) -> None:
    with pytest.raises(UnresolvedCall, match="Unknown function"):
        run(f'!yaql "{line}"', mocking=False)
