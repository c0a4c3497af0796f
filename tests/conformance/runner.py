"""Runs one case against the engine, through its public API only."""

from __future__ import annotations

import collections.abc as abc
import difflib
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from tests.conformance.cases import Case
from tests.conformance.compare import Bindings, same_outcome
from tests.conformance.convert import CaseTimeout, convert, convert_error, convert_model
from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.packages.memory import memory_source

#: The old engine's default limits, which the cases of topic `limits` are about.
OLD_LIMITS = Limits(
    max_sequence=2000,
    max_expression_memory=512 * 1024,
    max_calls=20,
    max_object_nesting=24,
    max_steps=2_000_000,
)


@dataclass(slots=True)
class Failure:
    """Where a case went wrong."""

    step: str
    expected: dict[str, Any]
    actual: dict[str, Any]
    #: Python's view of an error, for whoever mends the engine.
    trace: str = ""

    def render(self, *, trace: bool = False) -> str:
        """Both outcomes as a unified diff of YAML, with the traceback on request."""
        left, right = (_dump(outcome).splitlines() for outcome in (self.expected, self.actual))
        lines = [f"  {self.step}:"]
        lines += [f"    {line}" for line in difflib.unified_diff(left, right, "expected", "actual", lineterm="", n=4)]
        if trace and self.trace:
            lines += [f"    {line}" for line in self.trace.rstrip().splitlines()]
        return "\n".join(lines)


@dataclass(slots=True)
class _Run:
    case: Case
    bindings: Bindings = field(default_factory=Bindings)
    traces: list[Any] = field(default_factory=list)
    trace_text: str = ""

    def trace(self, value: Any) -> Any:
        """The function `trace` of the cases: records the value as it is now and returns it."""
        if isinstance(value, abc.Iterator):
            value = tuple(value)
        self.traces.append(convert(value))
        return value

    def outcome(self, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        self.traces.clear()
        self.trace_text = ""
        try:
            result = action()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # budgets that packages cannot catch are no Exception
            self.trace_text = traceback.format_exc()
            result = {"error": convert_error(error)}
        if self.traces:
            result["traces"] = list(self.traces)
        return result

    def check(self, title: str, expected: dict[str, Any], actual: dict[str, Any], **how: bool) -> Failure | None:
        if same_outcome(expected, actual, self.bindings, **how):
            return None
        return Failure(title, expected, self.bindings.show(actual), self.trace_text)


def run_case(case: Case, *, tier: Literal["compiled", "closure"] = "compiled") -> Failure | None:
    """Runs the case; None when every outcome was the expected one, else the first that was not."""
    run = _Run(case)
    session: Any = None

    def load() -> dict[str, Any]:
        nonlocal session
        engine = Engine(
            packages=memory_source(case.packages),
            limits=OLD_LIMITS if case.topic == "limits" else Limits(),
            configs=case.configs,
            functions={"trace": run.trace},
            mocking=case.mocking,
            clock=VirtualClock(),
            seed=0,
            tier=tier,
        )
        session = engine.session()
        if case.model:
            session.load(case.model)
        return {}

    try:
        with time_limit(case.seconds):
            actual = run.outcome(load)
            failure = run.check("load", case.load_expect, actual, load=True)
            if failure is not None or "error" in actual:
                return failure
            for number, step in enumerate(case.steps, 1):
                title, action = _action(session, step)
                actual = run.outcome(action)
                expected = step.get("expect") or {}
                failure = run.check(f"step {number} ({title})", expected, actual, unordered=bool(step.get("unordered")))
                if failure is not None:
                    return failure
    except CaseTimeout as error:  # between two steps
        return Failure("end", {}, {"error": convert_error(error)})
    finally:
        if session is not None:
            session.close()
    return None


def _action(session: Any, step: dict[str, Any]) -> tuple[str, Callable[[], dict[str, Any]]]:
    if "call" in step:
        return f"call {step['call']}", lambda: {
            "result": convert(
                session.call(
                    step["call"],
                    args=step.get("args") or [],
                    kwargs=step.get("kwargs") or {},
                    object_id=step.get("object"),
                    on_class=step.get("on_class"),
                )
            )
        }
    if "serialize" in step:
        form = step["serialize"]
        return f"serialize {form}", lambda: {"model": convert_model(session.serialize(copy=form == "copy"), form)}
    if "finalize" in step:
        return "finalize", lambda: {"model": convert_model(session.finalize(), step["finalize"])}
    if "cleanup" in step:
        return "cleanup", lambda: session.cleanup() or {}
    if "alive" in step:
        return "alive", lambda: {"alive": list(session.alive(step["alive"]))}
    wanted = step["schema"]
    return f"schema {wanted['class']}", lambda: {
        "schema": convert(
            session.schema(
                wanted["class"],
                version=wanted.get("version"),
                package=wanted.get("package"),
                methods=wanted.get("methods"),
            )
        )
    }


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `CaseTimeout` in the block after so many seconds. Elsewhere than in the main thread nothing is limited.

    A timer somebody else had set goes on afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: object) -> None:
        raise CaseTimeout(f"not finished after {seconds:g} seconds")

    handler = signal.signal(signal.SIGALRM, stop)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining, interval)
        signal.signal(signal.SIGALRM, handler)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dump(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=110)
