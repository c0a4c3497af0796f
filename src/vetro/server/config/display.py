"""`without_password`: a setting that holds a password, as it may be shown."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
_SECRET = re.compile(r"passw|secret|token|key", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?<=://)([^/@\s]*?):[^/\s]*@")
_IN_QUERY = re.compile(r"([?&][^=&]*(?:passw|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def without_password(value: Any) -> Any:
    """An address without the password in it; a mapping with stars for values whose names say that they are secret."""
    if isinstance(value, str):
        return _IN_QUERY.sub(rf"\1{HIDDEN}", _IN_ADDRESS.sub(rf"\1:{HIDDEN}@", value))
    if isinstance(value, dict):
        return {k: HIDDEN if _SECRET.search(str(k)) and v else without_password(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_password(item) for item in value]
    return value
