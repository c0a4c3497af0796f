"""What the end of a run tells of scripts that failed on a server."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.engine.failure import LONGEST_OUTPUT, describe
from vetro.library.natives.agent import AgentException


def told(details: Any) -> dict[str, Any]:
    return describe(AgentException("Script s returned error code", {"message": "m", "details": details}))


def test_exit_code_and_output_of_the_script() -> None:
    error = told({"exitCode": 3, "stdout": "out", "stderr": "no such box", "more": 1})
    assert error["message"] == "Script s returned error code"
    assert error["output"] == {"exitCode": 3, "stdout": "out", "stderr": "no such box"}


def test_of_long_output_the_end_is_kept() -> None:
    text = told({"exitCode": 1, "stdout": " \n", "stderr": "x" * 50_000 + "the reason"})["output"]
    assert set(text) == {"exitCode", "stderr"}
    assert len(text["stderr"]) == LONGEST_OUTPUT + 1 and text["stderr"].endswith("the reason")


@pytest.mark.parametrize("details", [None, "text", {}, {"exitCode": "x", "stderr": 7}, ["a"]])
def test_other_details_are_no_output(details: Any) -> None:
    assert "output" not in told(details)
