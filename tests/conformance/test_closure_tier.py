"""Every case once more with all expressions left to the closure tier: it is the oracle of the compiled one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import Case, read_cases
from tests.conformance.runner import run_case
from vetro.muranopl.api import Engine

HERE = Path(__file__).parent
CASES = list(read_cases([HERE / "cases", HERE / "cases_own"]))


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Engine.__init__

    def closures(self: Engine, *args: Any, **options: Any) -> None:
        original(self, *args, **{**options, "tier": "closure"})

    monkeypatch.setattr(Engine, "__init__", closures)
    failure = run_case(case)
    assert failure is None, failure.render(trace=True)
