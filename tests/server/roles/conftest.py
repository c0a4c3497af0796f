"""The packages of the installation, and processes that end."""

from __future__ import annotations

from tests.server.api.v2.conftest import _ended, installed

__all__ = ["_ended", "installed"]
