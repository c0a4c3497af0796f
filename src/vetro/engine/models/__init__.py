"""Object models of environments from what a person says: property values, and what is left to Vetro."""

from __future__ import annotations

from vetro.engine.models.apply import Applied, UnclearApplication, apply_answers, put
from vetro.engine.models.check import check_model, examine
from vetro.engine.models.suggest import Suggester, Suggestions
from vetro.engine.models.unknown_properties import undeclared, warning_text

__all__ = [
    "Applied",
    "Suggester",
    "Suggestions",
    "UnclearApplication",
    "apply_answers",
    "check_model",
    "examine",
    "put",
    "undeclared",
    "warning_text",
]
