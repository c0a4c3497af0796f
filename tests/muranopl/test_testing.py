"""Discovery and execution of MuranoPL unit tests."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.effects import InProcessEffects
from vetro.muranopl.testing import TestCase, discover, is_test, run_test, run_tests
from vetro.packages import memory_package

HEAD = "Namespaces: {=: t, test: io.murano.test, sys: io.murano.system}\n"
CLASSES = {
    "t.Item": HEAD + "Name: Item\nMethods:\n  f: {Body: [{Return: real}]}\n",
    "t.Base": HEAD
    + """
Name: Base
Extends: test:TestFixture
Methods:
  setUp: {Body: [!yaql "trace(setUp)"]}
  tearDown: {Body: [!yaql "trace(tearDown)"]}
  testInherited: {Body: []}
""",
    "t.Good": HEAD
    + """
Name: Good
Extends: Base
Methods:
  testMock:
    Body:
      - inject(Item, f, fake)
      - $.assertEqual(fake, new(Item).f())
  test_real: {Body: [!yaql "$.assertEqual(real, new(Item).f())"]}
  testing: {Body: [!yaql "trace(never)"]}
  helper: {Body: []}
""",
    "t.Bad": HEAD
    + """
Name: Bad
Extends: Base
Methods:
  testFails: {Body: [!yaql "$.assertTrue(false)"]}
  testBreaks: {Body: [{Throw: boom}]}
""",
    "t.Broken": HEAD
    + "Name: Broken\nExtends: test:TestFixture\nMethods:\n  setUp: {Body: [{Throw: early}]}\n  test1: {Body: []}\n",
}
PACKAGE = memory_package({"name": "t", "format": "1.4", "classes": CLASSES})


@pytest.fixture
def traces() -> list[Any]:
    return []


@pytest.fixture
def engine(traces: list[Any]) -> Engine:
    return Engine([PACKAGE], mocking=True, effects=InProcessEffects(), functions={"trace": traces.append})


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("testA", True),
        ("test_a", True),
        ("test1", True),
        ("test", False),
        ("tests", False),
        ("aTest", False),
        ("testé", False),
    ],
)
def test_names_of_tests(name: str, wanted: bool) -> None:
    assert is_test(name) is wanted


def test_discovery_lists_own_tests_before_inherited_ones(engine: Engine) -> None:
    assert [str(case) for case in discover(engine, PACKAGE)] == [
        "t.Base.testInherited",
        "t.Good.testMock",
        "t.Good.test_real",
        "t.Good.testInherited",
        "t.Bad.testFails",
        "t.Bad.testBreaks",
        "t.Bad.testInherited",
        "t.Broken.test1",
    ]


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        (["Broken"], ["t.Broken.test1"]),
        (["t.Broken"], ["t.Broken.test1"]),
        (["testFails", "test_real"], ["t.Good.test_real", "t.Bad.testFails"]),
        (["Good.testInherited"], ["t.Good.testInherited"]),
        (["t.Bad.testFails"], ["t.Bad.testFails"]),
        (["nothing"], []),
    ],
)
def test_tests_can_be_chosen(engine: Engine, only: list[str], wanted: list[str]) -> None:
    assert [str(case) for case in discover(engine, PACKAGE, only)] == wanted


def test_mocks_end_with_their_test(engine: Engine, traces: list[Any]) -> None:
    results = list(run_tests(engine, discover(engine, PACKAGE, ["Good"])))
    assert [(result.case.method, result.outcome) for result in results] == [
        ("testMock", "passed"),
        ("test_real", "passed"),
        ("testInherited", "passed"),
    ]
    assert all(result.passed and result.seconds > 0 for result in results)
    assert traces == ["setUp", "tearDown"] * 3


def test_failures_and_errors_are_told_apart(engine: Engine, traces: list[Any]) -> None:
    failed, broken = run_tests(engine, discover(engine, PACKAGE, ["testFails", "testBreaks"]))
    assert (failed.outcome, str(failed.error)) == ("failed", "false is not true")
    assert broken.outcome == "error" and broken.error is not None and "t.boom" in str(broken.error)
    assert traces == ["setUp", "tearDown"] * 2


def test_a_failing_set_up_is_an_error(engine: Engine) -> None:
    result = run_test(engine, TestCase(PACKAGE, "t.Broken", "test1"))
    assert result.outcome == "error" and "t.early" in str(result.error)


def test_an_interrupt_is_not_a_result(engine: Engine) -> None:
    def interrupt(x: Any) -> None:
        raise KeyboardInterrupt

    stopped = Engine([PACKAGE], mocking=True, functions={"trace": interrupt})
    with pytest.raises(KeyboardInterrupt):
        run_test(stopped, TestCase(PACKAGE, "t.Good", "test_real"))
