"""How the worker describes ends that the task process does not describe itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vetro.engine.worker.journal import Ended
from vetro.engine.worker.replay import Divergence

if TYPE_CHECKING:
    from vetro.engine.worker.state import WorkerState


def died_too_often(worker: WorkerState, how: str, deaths: int) -> Ended:
    """The process ended by itself so often that it will again."""
    message = f"the task process ended {deaths} times by itself, the last time: {how}"
    error = {"kind": "limit-exceeded", "code": "ENG313", "message": message, "names": []}
    return Ended("cancelled" if worker.cancelled else "failed", None, error, worker.clock())


def killed(worker: WorkerState, how: str) -> Ended:
    """It was cancelled and did not end in time."""
    message = f"the task was cancelled ({worker.cancelled}) and its process had to be ended: {how}"
    error = {"kind": "cancelled", "code": "ENG314", "message": message, "names": []}
    return Ended("killed", None, error, worker.clock())


def diverged(worker: WorkerState, found: Divergence) -> Ended:
    """Run again, it does something else."""
    error = {
        "kind": "invalid-operation",
        "code": "ENG315",
        "message": found.message,
        "names": [],
        "hint": "its packages or the engine have changed; retry it: a new deployment from the last checkpoint",
        "divergence": {"key": found.key, "recorded": found.recorded, "asked": found.asked},
    }
    return Ended("diverged", None, error, worker.clock())


def needs_person(worker: WorkerState) -> Ended:
    """Nobody here knows whether something was done."""
    error = {
        "kind": "invalid-operation",
        "code": "ENG316",
        "names": [],
        "message": "nobody knows whether an effect was done that must not be done twice",
        "hint": "look, then decide: give its answer, or have it done again",
    }
    return Ended("needs_person", None, error, worker.clock())


def wrote_too_much(worker: WorkerState, what: str) -> Ended:
    """What it writes would fill the disk. ``what``: how much it wrote more than."""
    message = f"the task {what}"
    hint = "look for a loop that writes in each of its rounds; settings task.reports, task.report_mib, task.effects"
    error = {"kind": "limit-exceeded", "code": "ENG318", "message": message, "hint": hint, "names": []}
    return Ended("failed", None, error, worker.clock())


def used_up(worker: WorkerState) -> Ended:
    """Its processor time is over, and it did not stop by itself."""
    message = f"the task used up its {worker.task.budget.cpu_seconds:g} seconds of processor time"
    error = {"kind": "limit-exceeded", "code": "ENG317", "message": message, "names": []}
    return Ended("failed", None, error, worker.clock())
