"""What a campaign is to do (`Plan`), and what came of it (`Result`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tests.faults.campaign.verdict import Check


@dataclass(frozen=True)
class Plan:
    """What is to be done. ``kills``: at most so many, ``every`` so many seconds on average; 0: spread over the work."""

    database: str = "postgresql"
    backend: str = "embedded"
    deployments: int = 30
    environments: int = 10
    clients: int = 5
    seed: int = 1
    every: float = 0.0
    kills: int = 10
    rabbit: bool = True
    lease: float = 3.0
    #: Longest time of a push, half of it before the deed; seconds.
    latency: float = 0.1
    #: After so many seconds it has failed.
    limit: float = 300.0


@dataclass
class Result:
    """What came of it."""

    plan: Plan
    checks: list[Check] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    #: Deployments by how they ended.
    ends: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    #: How often tasks were claimed: {times: tasks}.
    claims: dict[int, int] = field(default_factory=dict)
    #: Seconds from the lapse of each lease to the next claim: while a worker with a free place lived, and altogether.
    takeovers: dict[str, list[float]] = field(default_factory=dict)
    effects: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Checks that do not hold."""
        return sum(bool(check.wrong) for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "failed": self.failed}
