"""Every case, shared or our own, as a test of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.cases import Case, read_cases
from tests.conformance.runner import run_case

pytestmark = pytest.mark.usefixtures("small_heap")
HERE = Path(__file__).parent
CASES = list(read_cases([HERE / "cases", HERE / "cases_own"]))


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case) -> None:
    failure = run_case(case)
    assert failure is None, failure.render(trace=True)
