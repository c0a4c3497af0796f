"""Who uses a database right now: workers, servers, shells. An installation is moved when nobody does."""

from __future__ import annotations

import os
from pathlib import Path

from django.db import connections


def users(alias: str) -> list[str]:
    """Whoever has the database open besides this process, each in words."""
    connection = connections[alias]
    if connection.vendor == "postgresql":
        return _sessions(alias)
    return _openers(Path(str(connection.settings_dict["NAME"])))


def _sessions(alias: str) -> list[str]:
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT pid, coalesce(nullif(application_name, ''), 'a client'),"
            " coalesce(host(client_addr), 'a local socket')"
            " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend' ORDER BY pid"
        )
        return [f"{name} from {address} (session {pid})" for pid, name, address in cursor.fetchall()]


def _openers(path: Path) -> list[str]:
    """Processes of this machine that have the file open, as far as this user may see them."""
    names = {str(path.resolve()), f"{path.resolve()}-wal"}
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            opened = {os.readlink(file) for file in (process / "fd").iterdir()}
            if opened & names:
                words = (process / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ").strip()
                found.append(f"process {process.name}: {words[:100]}")
        except OSError:  # gone, or not ours to look at
            continue
    return sorted(found)
