"""Errors that become a plan's answer (AGENT.md 4, Result)."""

from __future__ import annotations

from typing import Any

ANY = 1
MALFORMED = 2
VERSION = 9
SCRIPT = 100


class PlanError(Exception):
    """A plan that cannot be run or failed. Bodies may catch it."""

    def __init__(self, error_code: int, message: str, additional_data: Any = None) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message
        self.additional_data = additional_data


def malformed(message: str) -> PlanError:
    """The plan breaks the rules of its format."""
    return PlanError(MALFORMED, message)
