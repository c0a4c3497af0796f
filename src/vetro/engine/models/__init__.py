"""Object models of environments from what a person says: property values, and what is left to Vetro."""

from __future__ import annotations

from vetro.engine.models.environment import Environment
from vetro.engine.models.suggest import Suggester, Suggestions

__all__ = ["Environment", "Suggester", "Suggestions"]
