"""`shown`: settings as people and programs may see them; `without_password`: one that holds a password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vetro.server.config.config import Config

HIDDEN = "***"
_SECRET = re.compile(r"passw|secret|token|key", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?<=://)([^/@\s]*?):[^/\s]*@")
_IN_QUERY = re.compile(r"([?&][^=&]*(?:passw|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def shown(config: Config) -> list[dict[str, Any]]:
    """Every setting as {name, value, source, meaning, default, murano}, passwords hidden.

    ``source``: ``default``, a file, ``environment VETRO_…`` or ``command line``. ``murano``: what it was called there.
    """
    return [
        {
            "name": value.setting.name,
            "value": without_password(value.value) if value.setting.secret else value.value,
            "source": value.source,
            "meaning": value.setting.meaning,
            "default": value.setting.default,
            "murano": value.setting.murano,
        }
        for value in config.values()
    ]


def without_password(value: Any) -> Any:
    """An address without the password in it; a mapping with stars for values whose names say that they are secret."""
    if isinstance(value, str):
        return _IN_QUERY.sub(rf"\1{HIDDEN}", _IN_ADDRESS.sub(rf"\1:{HIDDEN}@", value))
    if isinstance(value, dict):
        return {k: HIDDEN if _SECRET.search(str(k)) and v else without_password(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_password(item) for item in value]
    return value
