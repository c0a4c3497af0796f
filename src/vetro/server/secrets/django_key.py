"""Secrets that Django wants, derived from the keys of the installation, so that there is one file to keep."""

from __future__ import annotations

import hashlib
from pathlib import Path


def django_secret(path: Path) -> str:
    """Django's SECRET_KEY: follows from the oldest key, so that adding newer ones signs nobody out."""
    from vetro.server.secrets.key_file import read_keys

    return hashlib.sha256(b"vetro-django:" + read_keys(path)[-1].encode()).hexdigest()
