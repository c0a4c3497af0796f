"""Makes the zygote believe that this kernel has no namespaces."""

from __future__ import annotations

from typing import Any

from vetro.engine.sandbox import Layer
from vetro.engine.task import zygote_service


def register(registry: Any) -> None:
    """Called in the zygote before it looks for namespaces."""
    zygote_service.leave_network = lambda: Layer("network", False, "no namespace: not allowed")  # type: ignore[attr-defined]
