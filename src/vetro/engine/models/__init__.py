"""Object models of environments from what a person says: property values, and what is left to Vetro."""

from __future__ import annotations

from vetro.engine.models.apply import Applied, UnclearApplication, apply_answers, put
from vetro.engine.models.check import check_model
from vetro.engine.models.suggest import Suggester, Suggestions

__all__ = [
    "Applied",
    "Suggester",
    "Suggestions",
    "UnclearApplication",
    "apply_answers",
    "check_model",
    "put",
]
