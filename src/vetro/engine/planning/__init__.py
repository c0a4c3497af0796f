"""Plans: what a deployment would do, found out by running it against a recorder; nothing outside changes."""

from __future__ import annotations

from vetro.engine.planning.report import host_config, told

__all__ = ["host_config", "told"]
