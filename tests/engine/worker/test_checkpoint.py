"""Checkpoints are due now and then, and never cost more than their share."""

from __future__ import annotations

import os

from vetro.engine.worker.checkpoint import Throttle, cpu_seconds


def test_due_after_a_change_and_the_pause() -> None:
    throttle = Throttle(5.0, 0.05, now=100.0)
    assert not throttle.due(200.0, 1.0)  # nothing changed
    throttle.changed()
    assert throttle.wait(102.0) == 3.0
    assert not throttle.due(104.9, 1.0)
    assert throttle.due(105.0, 1.0)
    throttle.asked(105.0, 1.0)
    throttle.changed()
    assert throttle.waiting
    assert not throttle.due(200.0, 1.0)  # one is on its way
    throttle.came(1.01)
    assert throttle.wait(106.0) == 4.0
    assert throttle.due(110.0, 1.01)


def test_share_of_processor_time() -> None:
    throttle = Throttle(1.0, 0.05, now=0.0)
    throttle.changed()
    throttle.asked(1.0, 1.0)
    throttle.came(2.0)  # took a second
    throttle.changed()
    assert not throttle.due(10.0, 3.0)
    assert throttle.wait(10.0) == 0.5  # looks again soon
    assert not throttle.due(12.0, 19.9)
    assert throttle.due(14.0, 20.1)


def test_what_the_task_says_counts() -> None:
    throttle = Throttle(1.0, 0.05, now=0.0)
    throttle.changed()
    throttle.asked(1.0, 1.0)
    throttle.came(2.0, spent=0.0)
    throttle.changed()
    assert throttle.due(10.0, 3.0)


def test_processor_time_of_processes() -> None:
    assert cpu_seconds(os.getpid()) > 0
    assert cpu_seconds(None) == cpu_seconds(2**22 + 1) == 0.0
