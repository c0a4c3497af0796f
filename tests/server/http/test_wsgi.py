"""The application as HTTP servers load it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_routes_are_there_before_the_first_request(tmp_path: Path) -> None:
    """Several first requests come at once: if one of them registered the routes, the others would be answered 404."""
    code = (
        "import vetro.server.http.wsgi; from vetro.server.api.v1.routing import find; "
        "assert find('GET', 'environments')"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    environment.update(VETRO_DATA=str(tmp_path), DJANGO_SETTINGS_MODULE="vetro.server.settings")
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=100, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
