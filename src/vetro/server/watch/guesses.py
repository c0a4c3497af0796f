"""Checks that nobody declared, where they are told beside components."""

from __future__ import annotations


def guess(component: str, name: str) -> str:
    """What a check that nobody declared is called beside components."""
    return f"{component}: {name}"
