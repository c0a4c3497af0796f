"""Django's settings in tests: a data directory of their own. ``VETRO_DATABASE__URL`` runs them on PostgreSQL."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "VETRO_DATA" not in os.environ:
    _folder = tempfile.mkdtemp(prefix="vetro-tests-")
    _maker = os.getpid()

    def _remove() -> None:
        if os.getpid() == _maker:
            shutil.rmtree(_folder, ignore_errors=True)

    atexit.register(_remove)
    os.environ["VETRO_DATA"] = _folder

from vetro.server.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # argon2 is slow on purpose
