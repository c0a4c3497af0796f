"""Django's settings in tests: a data directory of their own. ``VETRO_DATABASE__URL`` runs them on PostgreSQL."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

if "VETRO_DATA" not in os.environ and "mypy" in sys.modules:
    # Its plug-in reads these settings, and it ends without saying goodbye: a new folder would be left each time.
    os.environ["VETRO_DATA"] = str(Path(__file__).parents[2] / ".mypy_cache" / "settings")
elif "VETRO_DATA" not in os.environ:
    _folder = tempfile.mkdtemp(prefix="vetro-tests-")
    _maker = os.getpid()

    def _remove() -> None:
        if os.getpid() == _maker:
            shutil.rmtree(_folder, ignore_errors=True)

    atexit.register(_remove)
    os.environ["VETRO_DATA"] = _folder

# Each process of pytest-xdist has a database of its own, and so a data directory: a sweep in one would remove the
# archives of packages that only the database of another one names.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if _worker and Path(os.environ["VETRO_DATA"]).name != _worker:
    os.environ["VETRO_DATA"] = str(Path(os.environ["VETRO_DATA"], _worker))
    Path(os.environ["VETRO_DATA"]).mkdir(exist_ok=True)

from vetro.server import setup  # noqa: E402
from vetro.server.config.config import Config  # noqa: E402

# The service within tests writes down what it is told, whatever this machine could do: which of the tests would meet
# real servers was a question of whether an image had been made on it.
setup._current = Config.load(overrides={"cloud.kind": "record"})

from vetro.server.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # argon2 is slow on purpose
if DATABASES["default"]["ENGINE"] != "vetro.server.postgresql":  # noqa: F405
    # A file, as services have it: in memory, connections of one process share a cache and refuse each other at once
    # instead of waiting. What a crash of the machine leaves of it is of no interest here.
    _options = DATABASES["default"]["OPTIONS"]  # noqa: F405
    _options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    _name = str(Path(os.environ["VETRO_DATA"], "tests.db"))
    DATABASES["default"].setdefault("TEST", {})["NAME"] = _name  # noqa: F405
