"""Every attack ends in a named error within its budget, and the process lives on (see `tests.hostile.arena`)."""

from __future__ import annotations

import functools
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.hostile.arena import Attack, Outcome, attacks_of, watch

MODULES = ("expressions", "shapes", "programs", "names", "files", "recursion")


@functools.cache
def running() -> dict[str, Future[dict[str, Outcome]]]:
    """The arenas of all modules, two at a time."""
    pool = ThreadPoolExecutor(2)
    return {module: pool.submit(watch, module) for module in MODULES}


def outcomes(module: str) -> dict[str, Outcome]:
    return running()[module].result()


def cases() -> list[object]:
    found: list[object] = []
    for module in MODULES:
        mark = pytest.mark.attack("language", module)
        found += [pytest.param(module, each, id=f"{module}-{each.name}", marks=mark) for each in attacks_of(module)]
    return found


@pytest.mark.timeout(600)  # the first case of a module waits for all of them
@pytest.mark.parametrize(("module", "attack"), cases())
def test_attack(module: str, attack: Attack) -> None:
    outcome = outcomes(module)[attack.name]
    assert outcome.kind in attack.kinds, outcome
    assert outcome.healthy, f"the process does not work any more, or the message is huge: {outcome}"
    assert outcome.mebibytes <= attack.mebibytes, outcome
    assert outcome.seconds <= attack.seconds, outcome
