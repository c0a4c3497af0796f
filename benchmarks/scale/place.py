"""A service on PostgreSQL for the time of a measurement."""

from __future__ import annotations

import os
from pathlib import Path


def prepare(folder: Path) -> dict[str, str]:
    """Django for this process over the database of ``VETRO_DATABASE__URL``; the variables for others."""
    url = os.environ.get("VETRO_DATABASE__URL", "")
    if not url.startswith("postgresql"):
        raise SystemExit(
            "VETRO_DATABASE__URL must name a PostgreSQL that may be filled:"
            " script/with-postgresql .venv/bin/python -m benchmarks.scale"
        )
    (folder / "vetro.toml").write_text('[cloud]\ndriver = "record"\n', "utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    environ |= {"VETRO_DATA": str(folder), "VETRO_DATABASE__URL": url}
    os.environ.update(environ)
    from vetro.server.setup import setup

    setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return environ
