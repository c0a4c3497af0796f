"""Deep calls: 500 levels of every kind work, more is a named error and never a signal (DESIGN Depth)."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support import deep
from vetro.muranopl.errors import InvalidOperation
from vetro.muranopl.runtime import stacks

ROOT = Path(__file__).parents[3]


def _small_main_stack() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (8 * 1024 * 1024, resource.getrlimit(resource.RLIMIT_STACK)[1]))


@pytest.mark.parametrize(
    "where",
    ["main", pytest.param("thread", marks=pytest.mark.campaign), pytest.param("branch", marks=pytest.mark.campaign)],
)
def test_five_hundred_levels_and_a_named_error_beyond(where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.deep", where],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=_small_main_stack,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found = json.loads(done.stdout)
    assert found.pop("objects") == [deep.OBJECTS]
    assert found == {name: [deep.ENOUGH, "limit-exceeded"] for name in (*deep.CALLS, *deep.CLASSES)}


def test_the_recursion_limit_is_put_back_when_the_last_user_leaves() -> None:
    before = sys.getrecursionlimit()
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with stacks.deep_calls():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with stacks.deep_calls():
        thread.start()
        assert entered.wait(10)
        assert sys.getrecursionlimit() == stacks.RECURSION_LIMIT
    assert sys.getrecursionlimit() == stacks.RECURSION_LIMIT
    leave.set()
    thread.join()
    assert sys.getrecursionlimit() == before


def in_thread(size: int, work: Any) -> Any:
    """``work()`` in a thread with a stack of ``size`` bytes."""
    found: list[Any] = []
    usual = threading.stack_size(size)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
    finally:
        threading.stack_size(usual)
    thread.join()
    return found[0]


@pytest.mark.parametrize("size", [512 * 1024, 1024 * 1024, 32 * 1024 * 1024])
def test_the_stack_of_a_thread_is_known(size: int) -> None:
    assert in_thread(size, stacks.stack_size) == size
    assert in_thread(size, stacks.enough_stack) is (size > 16 * 1024 * 1024)


def test_a_small_thread_is_served_by_a_helper_which_is_traced_as_its_caller() -> None:
    session = deep.session(deep.METHOD % "$.go($n - 1) + 1")
    lines: set[tuple[str, int]] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if "__murano__" in frame.f_globals:
            lines.add((frame.f_code.co_name, frame.f_lineno))
            return trace
        return None

    def work() -> Any:
        sys.settrace(trace)
        try:
            return session.call("go", [2], public_only=False), len(set(threading.enumerate()) - before)
        finally:
            sys.settrace(None)

    before = set(threading.enumerate())
    assert in_thread(256 * 1024, work) == (2, 1)
    assert len(lines) >= 4


def test_errors_of_the_helper_reach_the_caller() -> None:
    def fail() -> None:
        raise InvalidOperation("no")

    with pytest.raises(InvalidOperation, match="no"):
        stacks.on_large_stack(fail, lambda: None)


def test_a_session_refuses_to_run_in_two_threads_at_once() -> None:
    session = deep.session(deep.METHOD % "$.go($n - 1) + 1")

    def call() -> Any:
        try:
            return session.call("go", [1], public_only=False)
        except InvalidOperation as error:
            return str(error)

    with session.entered():
        assert "another thread" in in_thread(32 * 1024 * 1024, call)
    assert in_thread(32 * 1024 * 1024, call) == 1
