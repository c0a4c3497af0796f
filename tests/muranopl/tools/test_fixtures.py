"""Discovery and execution of MuranoPL unit tests."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.tools.fixtures import TEST_NAME, TestId, find_tests, run_tests, test_engine
from vetro.muranopl.types.native import NativeRegistry
from vetro.packages import memory_package

HEAD = "Namespaces: {=: t, test: io.murano.test, sys: io.murano.system}\n"
CLASSES = {
    "t.Item": HEAD + "Name: Item\nMethods:\n  f: {Body: [{Return: real}]}\n",
    "t.Base": HEAD
    + """
Name: Base
Extends: test:TestFixture
Methods:
  setUp: {Body: [trace(setUp)]}
  tearDown: {Body: [trace(tearDown)]}
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
  testing: {Body: [trace(never)]}
  helper: {Body: []}
""",
    "t.Bad": HEAD
    + """
Name: Bad
Extends: Base
Methods:
  testFails: {Body: [!yaql "$.assertTrue(false)"]}
  testBreaks: {Body: [{Throw: boom}]}
  testLogs:
    Body:
      - logger(x).info(hello)
      - sleep(1000)
      - !yaql "new(sys:StatusReporter, environment => e).report($this, done)"
""",
    "t.Broken": HEAD
    + """
Name: Broken
Extends: test:TestFixture
Methods:
  setUp: {Body: [{Throw: early}]}
  test1: {Body: []}
""",
    "t.Wrong": HEAD + "Name: Wrong\nExtends: test:TestFixture\nMethods:\n  testX: {Body: [plain words]}\n",
}
PACKAGE = memory_package({"name": "t", "format": "1.4", "classes": CLASSES})


@pytest.fixture
def traces() -> list[Any]:
    return []


@pytest.fixture
def engine(traces: list[Any]) -> Engine:
    from vetro.library import core_natives

    natives = NativeRegistry(parent=core_natives())
    natives.register_function("trace", traces.append)
    return test_engine([PACKAGE], natives=natives)


def found(engine: Engine, *names: str) -> list[TestId]:
    every = [test for test in find_tests(engine, [PACKAGE]) if isinstance(test, TestId)]
    return [test for test in every if not names or test.method in names or test.class_name in names]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("testA", True), ("test_a", True), ("test1", True), ("test", False), ("tests", False), ("aTest", False)],
)
def test_names_of_tests(name: str, wanted: bool) -> None:
    assert bool(TEST_NAME.match(name)) is wanted


def test_discovery_lists_own_tests_before_inherited_ones(engine: Engine) -> None:
    assert [str(test) for test in found(engine)] == [
        "t.Base.testInherited",
        "t.Good.testMock",
        "t.Good.test_real",
        "t.Good.testInherited",
        "t.Bad.testFails",
        "t.Bad.testBreaks",
        "t.Bad.testLogs",
        "t.Bad.testInherited",
        "t.Broken.test1",
    ]


def test_unusable_classes_are_reported_beside_the_tests(engine: Engine) -> None:
    (broken,) = [other for other in find_tests(engine, [PACKAGE]) if not isinstance(other, TestId)]
    assert broken[:2] == (PACKAGE, "t.Wrong") and broken[2].kind == "syntax"


def test_mocks_end_with_their_test(engine: Engine, traces: list[Any]) -> None:
    results = run_tests(engine, found(engine, "t.Good"))
    assert [(result.test.method, result.passed) for result in results] == [
        ("testMock", True),
        ("test_real", True),
        ("testInherited", True),
    ]
    assert traces == ["setUp", "tearDown"] * 3


def test_failures_and_errors_are_told_apart(engine: Engine, traces: list[Any]) -> None:
    heard: list[Any] = []
    failed, broken = run_tests(engine, found(engine, "testFails", "testBreaks"), heard.append)
    assert isinstance(failed.error, AssertionError) and str(failed.error) == "false is not true"
    assert broken.error is not None and "t.boom" in str(broken.error)
    assert traces == ["setUp", "tearDown"] * 2
    assert heard == [failed, broken]


def test_reports_and_log_lines_are_kept_and_nothing_waits(engine: Engine) -> None:
    (result,) = run_tests(engine, found(engine, "testLogs"))
    assert result.passed and result.seconds < 60
    assert result.output == ["info: hello", "report: done"]


def test_a_failing_set_up_is_an_error(engine: Engine) -> None:
    (result,) = run_tests(engine, found(engine, "test1"))
    assert result.error is not None and "t.early" in str(result.error)
