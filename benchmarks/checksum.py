"""The canonical form of a workload's result, and its checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> Any:
    """Plain JSON data: keys become text, every sequence a list, sets are sorted; lists keep their order."""
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(canonical(item) for item in value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "__iter__"):
        return [canonical(item) for item in value]
    return str(value)


def checksum(value: Any) -> str:
    """16 hexadecimal digits, equal for equal results."""
    text = json.dumps(canonical(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
