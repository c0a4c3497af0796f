"""Cases once more with all expressions left to the closure tier, which is the oracle of the compiled one.

A seventh of them by default: this tier is the slow one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.cases import Case, read_cases
from tests.conformance.runner import run_case
from tests.support.fuzzing import every

pytestmark = pytest.mark.usefixtures("small_heap")
HERE = Path(__file__).parent
CASES = every(7, read_cases([HERE / "cases", HERE / "cases_own"]))


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case) -> None:
    failure = run_case(case, tier="closure")
    assert failure is None, failure.render(trace=True)
