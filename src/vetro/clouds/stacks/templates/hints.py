"""Words for error messages."""

from __future__ import annotations

from collections.abc import Iterable

from vetro.yaql.didyoumean import suggest


def meant(name: str, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` or, where nothing is close, the names there are."""
    names = sorted(known)
    close = suggest(name, names)
    if close is not None:
        return f", did you mean '{close}'?"
    if not names:
        return ""
    return f"; known are {', '.join(names[:60])}{', …' if len(names) > 60 else ''}"
