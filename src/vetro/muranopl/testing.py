"""Running the unit tests of a package: classes derived from ``io.murano.test.TestFixture`` (SEMANTICS 18).

Each test method runs in a session of its own, so tests cannot influence each other; ``setUp`` goes before it and
``tearDown`` after it, also when it fails. The engine must have been made with ``mocking=True`` for ``inject`` to be
known.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vetro.muranopl.api import Engine
    from vetro.muranopl.session import Session
    from vetro.muranopl.types import MuranoType

FIXTURE = "io.murano.test.TestFixture"


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test method of one class."""

    __test__ = False  # not a test of this project

    package: Any
    class_name: str
    method: str

    def __str__(self) -> str:
        return f"{self.class_name}.{self.method}"


@dataclass(frozen=True, slots=True)
class TestResult:
    """How a test ended. ``outcome`` is ``passed``, ``failed`` (an assertion) or ``error`` (anything else)."""

    __test__ = False

    case: TestCase
    outcome: str
    seconds: float
    error: BaseException | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing was raised."""
        return self.outcome == "passed"


def is_test(name: str) -> bool:
    """Whether a method of that name is a test: ``test`` and something that is no lower-case letter behind it."""
    return name.startswith("test") and len(name) > 4 and not name[4].islower()


def discover(engine: Engine, package: Any, only: Iterable[str] = ()) -> list[TestCase]:
    """The tests of a package in the order of its manifest and class files.

    ``only`` narrows them: names of classes, of methods, or ``Class.method``; a class may be given by its last part.
    Raises what makes one of the package's classes unusable.
    """
    session = engine.session()
    wanted = tuple(only)
    found: list[TestCase] = []
    for name in package.classes:
        type_ = session.types.in_package(package, name)
        if any(ancestor.name == FIXTURE for ancestor in type_.ancestors[1:]):
            cases = (TestCase(package, type_.name, method) for method in _test_methods(type_))
            found.extend(case for case in cases if not wanted or any(_matches(case, text) for text in wanted))
    return found


def _test_methods(type_: MuranoType) -> Iterator[str]:
    """Own tests as written, then inherited ones."""
    seen: set[str] = set()
    for ancestor in type_.ancestors:
        for name in ancestor.own_methods:
            if is_test(name) and name not in seen:
                seen.add(name)
                yield name


def _matches(case: TestCase, text: str) -> bool:
    short = case.class_name.rpartition(".")[2]
    return text in (case.class_name, short, case.method, str(case), f"{short}.{case.method}")


def run_test(engine: Engine, case: TestCase) -> TestResult:
    """Runs one test in a new session. Never raises what the test raises; cancellation and budgets are errors, too."""
    started = time.perf_counter()
    error: BaseException | None = None
    session = engine.session()
    try:
        _run(session, case)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as caught:
        error = caught
    finally:
        session.close()
    outcome = "passed" if error is None else "failed" if isinstance(error, AssertionError) else "error"
    return TestResult(case, outcome, time.perf_counter() - started, error)


def _run(session: Session, case: TestCase) -> None:
    with session.entered():
        type_ = session.types.in_package(case.package, case.class_name)
        fixture = session.store.create(type_, {})
        session.root = fixture

        def call(method: str) -> None:
            session.call(method, object_id=fixture._id, public_only=False)

        call("setUp")
        try:
            call(case.method)
        finally:
            call("tearDown")


def run_tests(engine: Engine, cases: Iterable[TestCase]) -> Iterator[TestResult]:
    """Runs the tests one after the other and yields each result as soon as it is known."""
    for case in cases:
        yield run_test(engine, case)
