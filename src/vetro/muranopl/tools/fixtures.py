"""Running the MuranoPL tests of packages (SEMANTICS 18).

A test fixture is a class derived from ``io.murano.test.TestFixture``; its tests are the methods named ``test`` followed
by a letter that is not lower-case. Each test runs in a session of its own, on a virtual clock, with `setUp` before and
`tearDown` after it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.api import Engine
from vetro.muranopl.defaults import default_natives
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.functions.mocks import add_mock_functions
from vetro.muranopl.runtime.effects import Effects, InProcessEffects
from vetro.muranopl.runtime.execution import VirtualClock
from vetro.muranopl.session import Session
from vetro.muranopl.types.murano_type import MuranoType
from vetro.muranopl.types.native import NativeRegistry
from vetro.yaql.context import Limits
from vetro.yaql.errors import Stop
from vetro.yaql.values import freeze

FIXTURE = "io.murano.test.TestFixture"
TEST_NAME = re.compile(r"^test[^a-z]")


@dataclass(frozen=True, slots=True)
class TestId:
    """One test: package, class and method."""

    __test__ = False

    package: Any
    class_name: str
    method: str

    def __str__(self) -> str:
        return f"{self.class_name}.{self.method}"


@dataclass(frozen=True, slots=True)
class TestResult:
    """Outcome of one test. ``error`` is None when it passed; ``output`` holds its reports and log lines."""

    __test__ = False

    test: TestId
    seconds: float
    error: BaseException | None = None
    output: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True when nothing was raised."""
        return self.error is None


def test_methods(kind: MuranoType) -> list[str]:
    """Names of the test methods of a fixture class, its own first, in file order; inherited ones behind."""
    own = [n for n in kind.own_methods if TEST_NAME.match(n)]
    inherited = [n for n in kind.methods if TEST_NAME.match(n) and n not in own]
    return [*own, *sorted(inherited)]


test_methods.__test__ = False  # type: ignore[attr-defined]


def find_tests(engine: Engine, packages: Iterable[Any]) -> Iterator[TestId | tuple[Any, str, MuranoError]]:
    """Every test of the packages; a class that cannot be loaded gives (package, class, error) instead."""
    session = engine.session()
    base = session.types.core(FIXTURE)
    for package in packages:
        for name in package.classes:
            try:
                kind = session.types.in_package(package, name)
            except MuranoError as error:
                yield package, name, error
                continue
            if kind.derives_from(base) and kind.key != base.key:
                for method in test_methods(kind):
                    yield TestId(package, name, method)


def test_engine(packages: list[Any], **options: Any) -> Engine:
    """An engine as tests get it: mocks, a virtual clock, and five minutes, also on a machine that does other things."""
    natives = NativeRegistry(parent=options.pop("natives", None) or default_natives())
    add_mock_functions(natives)
    limits = options.pop("limits", None) or Limits(max_seconds=300.0)
    engine = Engine(packages, natives=natives, clock=VirtualClock(), mocking=True, limits=limits, **options)
    natives.register_function("sentPlans", lambda: _sent_plans(engine), params=())
    return engine


def _sent_plans(engine: Engine) -> Any:
    """What agents were asked in this test, oldest first: ``{server, name, texts, parameters}`` of each plan."""
    heard = engine.effects
    return freeze(heard.plans() if isinstance(heard, _Heard) else [])


test_engine.__test__ = False  # type: ignore[attr-defined]


#: What tests hear themselves; everything else is for the cloud, if there is one.
_HEARD = frozenset({"log", "report", "track", "clock", "sleep", "identity"})


class _Heard(InProcessEffects):
    """Collects what a test says; hands on what it does outside, to a cloud that is opened when it is needed."""

    def __init__(
        self,
        output: list[str],
        cloud: Callable[[], Effects] | None,
        plans: Callable[[], Sequence[Mapping[str, Any]]] | None,
    ) -> None:
        super().__init__(
            {"log": lambda args: output.append(f"{args.get('level', 'info')}: {args.get('text', '')}")},
            on_report=lambda args: output.append(f"report: {args.get('text', '')}"),
        )
        self._cloud = cloud
        self._plans = plans
        self._opened: Effects | None = None

    def plans(self) -> Sequence[Mapping[str, Any]]:
        """The plans that agents of the test's cloud were sent."""
        return () if self._plans is None or self._opened is None else self._plans()

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        if self._cloud is None or kind in _HEARD:
            return super().perform(key, kind, args)
        if self._opened is None:
            self._opened = self._cloud()
        return self._opened.perform(key, kind, args)


def run_test(
    engine: Engine,
    test: TestId,
    cloud: Callable[[], Effects] | None = None,
    plans: Callable[[], Sequence[Mapping[str, Any]]] | None = None,
) -> TestResult:
    """Runs one test in a fresh session. ``cloud`` opens what performs effects that reach outside: stacks, agents;
    ``plans`` says what agents were asked there (function ``sentPlans`` of tests)."""
    output: list[str] = []
    effects = _Heard(output, cloud, plans)
    engine.effects = effects
    session = engine.session()
    started = time.perf_counter()
    error: BaseException | None = None
    try:
        with session.entered():
            _run(session, test)
    except (Exception, Stop) as raised:
        error = raised
    finally:
        session.close()
    return TestResult(test, time.perf_counter() - started, error, output)


def _run(session: Session, test: TestId) -> None:
    kind = session.types.in_package(test.package, test.class_name)
    fixture = session.store.create(kind, {}, None, None)
    session.root = fixture
    _call(kind, fixture, "setUp")
    try:
        _call(kind, fixture, test.method)
    finally:
        _call(kind, fixture, "tearDown")


def _call(kind: MuranoType, fixture: Any, name: str) -> None:
    method = kind.find_method(name)
    if method is not None:
        method.invoke(fixture)


def run_tests(
    engine: Engine, tests: Iterable[TestId], on_result: Callable[[TestResult], None] | None = None
) -> list[TestResult]:
    """Runs the tests one after the other; ``on_result`` hears of each as it ends."""
    results = []
    for test in tests:
        result = run_test(engine, test)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return results
