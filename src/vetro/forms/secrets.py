"""Secrets in forms: they go to the server and never come back.

Where a form shows an object, a secret that is set is the *marker* ``{"secret": "kept", "at": pointer}``. Sent back it
means "as it was"; the pointer says where within the object it stood, so that lists may be rearranged. Which fields are
secret: those with the meta ``io.murano.metadata.forms.Secret``, nothing else; no name is guessed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.forms.values import ABSENT, at


def masked(path: str) -> dict[str, str]:
    """The marker of a secret that stands at ``path`` within its object."""
    return {"secret": "kept", "at": path}


def is_marker(value: Any) -> bool:
    """Whether a client means "keep the secret"."""
    return isinstance(value, Mapping) and value.get("secret") == "kept" and value.keys() <= {"secret", "at"}


def kept(marker: Mapping[str, Any], stored: Any, path: str) -> Any:
    """The secret of the stored object that ``marker``, found at ``path``, stands for; `ABSENT` when there is none."""
    place = marker.get("at", path)
    if stored is None or not isinstance(place, str):
        return ABSENT
    try:
        return at(stored, place)
    except ValueError:
        return ABSENT
