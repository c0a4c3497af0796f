"""Long lines of logs: cut where they are stored, so that lists are short whatever a package reports; whole in parts.

Columns are encrypted, so a database cannot give the beginning of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from vetro.muranopl.runtime.stacks import deep_calls

#: Characters of a line in lists, of its details as JSON, and of one part of what is stored whole.
LONGEST: Final = 8192
DETAILS: Final = 8192
PART: Final = 1 << 16


def shortened(text: str, details: Any) -> tuple[str, Any, str | None]:
    """(text, details) as lists have them, and the whole line as text where something was cut, else None."""
    written = None if details is None else _json(details)
    if len(text) <= LONGEST and (written is None or len(written) <= DETAILS):
        return text, details, None
    whole = text
    if written is not None and len(written) > DETAILS:
        told = details if isinstance(details, str) else written
        whole = f"{text}\n{told}"
        details = _cut(details) if isinstance(details, str) else None
    return (_cut(text) if len(text) > LONGEST else text), details, whole


def parts_of(whole: str) -> Iterator[tuple[int, str]]:
    """(number, text) of the parts of a whole line."""
    for number, start in enumerate(range(0, len(whole), PART)):
        yield number, whole[start : start + PART]


def _cut(text: str) -> str:
    return f"{text[:LONGEST]}… ({len(text):,} characters in all)"


def _json(value: Any) -> str:
    with deep_calls():
        return json.dumps(value, ensure_ascii=False)
