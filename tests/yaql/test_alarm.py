"""The alarm: on a thread that may not use the timer signal, and with deadlines at the end of the block."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.support.fuzzing import examples
from vetro.yaql.alarm import Alarm
from vetro.yaql.errors import TimeExceeded


def in_thread(work: Any) -> list[Any]:
    """What ``work`` returns in a thread of its own; nothing when it does not end."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    return found


def test_it_rings_and_leaves_nothing_behind() -> None:
    def work() -> tuple[str, int]:
        with pytest.raises(TimeExceeded) as caught, Alarm(0.05):
            while True:
                pass
        lines = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        def traced() -> None:
            pass

        # A flag of the interpreter left up makes a trace function be called for one instruction for ever.
        sys.settrace(trace)
        try:
            traced()
        finally:
            sys.settrace(None)
        return str(caught.value), lines

    assert in_thread(work) == [("the run used up its 0.05 seconds", 1)]


def test_it_is_silent_when_the_work_is_done_in_time() -> None:
    def work() -> int:
        with Alarm(5.0):
            return 1

    assert in_thread(work) == [1]


def test_no_timer_is_left_wherever_the_deadline_falls() -> None:
    """Also at the first step of leaving the block. In a process of its own: test runners use the timer themselves."""
    program = f"""
import random, signal
from vetro.yaql.alarm import Alarm
from vetro.yaql.errors import TimeExceeded
random.seed(1)
late = 0
for n in range({(most := examples(20000))}):
    try:
        with Alarm(random.uniform(1e-6, 4e-5)):
            for _ in range(random.randrange(400)):
                pass
    except TimeExceeded:
        late += 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0), n
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL, n
print(late)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-1000:]
    assert 0 < int(done.stdout) < most
