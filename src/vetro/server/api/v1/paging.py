"""Parameters of lists, checked as Murano checks them (API.md 3, 4)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import TooManyFieldsSent, TooManyFilesSent

from vetro.server.errors import Invalid

_DIGITS = 100


@contextmanager
def counted() -> Iterator[None]:
    """Around reading parameters or parts of a form. Raises `Invalid` for more of them than Django reads."""
    try:
        yield
    except (TooManyFieldsSent, TooManyFilesSent):
        raise Invalid("These are too many parameters or parts.") from None


def limit_of(text: str) -> int:
    """A positive number. Raises `Invalid`."""
    try:
        # Python's own bound of digits is not the same in every process.
        limit = int(text[: _DIGITS + 1])
        if len(text) > _DIGITS:
            raise ValueError
    except ValueError:
        raise Invalid("Limit param must be an integer") from None
    if limit <= 0:
        raise Invalid("Limit param must be positive")
    return limit


def is_true(text: str | None) -> bool:
    """``true`` in any case; everything else, also nothing, is not."""
    return text is not None and text.strip().lower() == "true"


def one_of(values: list[str]) -> list[str]:
    """The values of a repeatable filter, where one may be ``in:a,b`` or ``in:"a","b"``.

    One with an unclosed quote drops the filter.
    """
    found: list[str] = []
    for value in values:
        if not value.startswith("in:"):
            found.append(value)
            continue
        listed = _listed(value[3:])
        if listed is None:
            return []
        found += listed
    return found


def _listed(text: str) -> list[str] | None:
    """The items of ``a,"b,c",d``; None when a quote is not closed."""
    found, item, quoted = [], "", False
    for char in text:
        if char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            found.append(item)
            item = ""
        else:
            item += char
    if quoted:
        return None
    return [i.strip() for i in (*found, item) if i.strip()]
