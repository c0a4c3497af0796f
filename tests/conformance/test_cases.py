"""Every shared case as a test of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.cases import Case, read_cases
from tests.conformance.runner import run_case

CASES = list(read_cases([Path(__file__).parent / "cases"]))


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case) -> None:
    failure = run_case(case)
    assert failure is None, failure.render(trace=True)
