"""`Member`: one of those that run tasks."""

from __future__ import annotations

from vetro.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """One worker process. ``id`` is the ``owner`` of its tasks."""

    id: str
    host: str
    pid: int
    labels: tuple[str, ...] = ()
