"""The packages of examples/deploy pass the trial that strangers' packages are put to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages.__main__ import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "deploy"


@pytest.mark.campaign  # tests/examples/test_examples.py runs their tests
def test_all_examples_pass(capsys: pytest.CaptureFixture[str]) -> None:
    status = main([str(EXAMPLES)])
    lines = capsys.readouterr().out.splitlines()
    assert (status, lines[-1]) == (0, "9 passed, 0 failed"), "\n".join(lines)
