"""Whoever installs Vetro without the driver of PostgreSQL gets a service on SQLite: nothing that serves asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SERVES = """
import sys
sys.modules["psycopg"] = sys.modules["psycopg_pool"] = None
from vetro.server.config.config import Config
from vetro.server.setup import setup
setup(Config.load(sys.argv[1], None, {}, {}))
import vetro.server.urls, vetro.server.web.urls, vetro.server.api.v2.urls
from vetro.server.http import application, server
from vetro.server.tasks import worker
"""


def test_pages_api_and_workers_are_imported_without_its_driver(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVES, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
