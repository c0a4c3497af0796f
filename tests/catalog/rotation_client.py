"""What runs in a server of an application while its login changes: a client that uses the login it was given last,
fifty times a second. It stands beside the clients that it uses, and writes down how often it was refused."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

try:
    from tests.catalog import amqp_client, mysql_client
    from tests.catalog.steady import Steady
except ImportError:  # in a server
    import amqp_client  # type: ignore[import-not-found, no-redef]
    import mysql_client  # type: ignore[import-not-found, no-redef]
    from steady import Steady  # type: ignore[import-not-found, no-redef]

FOLDER = Path("/srv/client")


def main(kind: str) -> None:
    used: dict[str, int] = {}

    def ask() -> None:
        host, user, password = (FOLDER / "login").read_text("ascii").split()
        if kind == "amqp":
            login = {"user": user, "password": password, "host": "jobs"}
            with amqp_client.connected([host], login, patience=0) as client:
                client.declare("work")
        else:
            mysql_client.ask(host, {"user": user, "password": password}, "SELECT 1", "jobs", patience=0)
        used[user] = used.get(user, 0) + 1

    with Steady(ask, Exception) as client:
        while True:
            time.sleep(0.2)
            found = {"answered": client.answered, "refused": [str(one) for one in client.refused], "used": dict(used)}
            (FOLDER / "counts.new").write_text(json.dumps(found), "utf-8")
            os.replace(FOLDER / "counts.new", FOLDER / "counts")


if __name__ == "__main__":
    main(sys.argv[1])
