"""What the watcher tells apps above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vetro.server.environments.models import Environment
from vetro.server.hooks import Hook


@dataclass(frozen=True, slots=True)
class StateChange:
    """That a component, or (``component`` is empty) the environment, has come into another state.

    ``before``: empty where it had none. ``detail``: {text, texts}.
    """

    component: str
    before: str
    state: str
    detail: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed in one environment."""

    environment: Environment
    changes: Sequence[StateChange]


#: States have changed; in the transaction that writes so.
changed: Final[Hook[[Sequence[Changed]], None]] = Hook()
