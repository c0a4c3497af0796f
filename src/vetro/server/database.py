"""The database: from an address to Django's settings."""

from __future__ import annotations

import os
import socket
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from vetro.server.config.address import RUN
from vetro.server.config.config import Config, ConfigError

#: SQLite: many readers beside one writer, nothing committed is lost with the power, writers wait for each other. Each
#: thread has a connection, so its cache is small; the mapped file is shared.
_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=20000; PRAGMA foreign_keys=ON;"
    "PRAGMA cache_size=-4000; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=134217728"
)

#: PostgreSQL: who is not heard of any more (a machine without power, a network that is lost) must not hold up others.
#: The server ends transactions in which nobody does anything, whose locks others wait for; clients give up connections
#: on which nothing arrives. Our statements are short, and some look dear to the planner, who then compiles them to
#: machine code (JIT): with a long history and many queued tasks a claim took 100 ms instead of two. What the address
#: says comes first.
_CONNECTIONS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "options": "-c idle_in_transaction_session_timeout=60000 -c jit=off",
}


def database_settings(config: Config, *, make: bool = True) -> dict[str, Any]:
    """What Django wants for setting ``database.url``; ``make``: the folder of a file, too. Raises `ConfigError`."""
    url = config["database.url"] or f"sqlite:///{config.data / 'vetro.db'}"
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        path = config.data / unquote(parts.path.removeprefix("/"))
        if parts.path.startswith("//") or parts.path.removeprefix("/").startswith("/"):
            path = config.data / unquote(parts.path[1:])
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        return {
            "ENGINE": "vetro.server.sqlite",
            "NAME": str(path),
            "CONN_MAX_AGE": None,
            "OPTIONS": {"init_command": _PRAGMAS, "transaction_mode": "IMMEDIATE", "timeout": 20},
        }
    if parts.scheme in ("postgresql", "postgres"):
        pool = _pool(config)
        given = {k: v for k, v in parse_qsl(parts.query, keep_blank_values=True) if k != "host"}
        if given.get("options"):  # of two values the server takes the last one; none at all is for poolers
            given["options"] = f"{_CONNECTIONS['options']} {given['options']}"
        return {
            "ENGINE": "vetro.server.postgresql",
            "NAME": unquote(parts.path.removeprefix("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or dict(parse_qsl(parts.query)).get("host", ""),
            "PORT": str(parts.port or ""),
            # Connections of a pool go back to it at the end of each request, and between two looks of a stream.
            "CONN_MAX_AGE": 0 if pool else None,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {
                "application_name": _application(),
                **_CONNECTIONS,
                **given,
                "server_side_binding": True,
                "prepare_threshold": _threshold(given.get("prepare_threshold")),
                **({"pool": pool} if pool else {}),
            },
        }
    raise ConfigError(f"'database.url' must begin with sqlite:/// or postgresql://, not '{parts.scheme}'")


#: How often a session is asked a statement before it keeps it, where the address does not say it.
_THRESHOLD = 3


def _threshold(given: str | None) -> int | None:
    """What the address says of that; empty: never. Raises `ConfigError`."""
    if not given:
        return _THRESHOLD if given is None else None
    if given.isascii() and given.isdigit():
        return int(given)
    raise ConfigError(f"'prepare_threshold' in 'database.url' must be a number or empty, not '{given[:80]}'")


#: What the sessions of a server are called, before its machine and its first process: `vetro doctor` counts servers.
SERVER = "vetro serve "


def _application() -> str:
    """The name of this process's sessions; the processes of one `vetro serve` have one."""
    run = os.environ.get(RUN)
    if not run or not os.environ.get("VETRO_HTTP"):
        return "vetro"
    return f"{SERVER}{socket.gethostname()[:40]} {os.path.basename(run)[:10]}"


def _pool(config: Config) -> dict[str, Any]:
    """A pool for processes that answer requests: they have threads for streams, which need a connection now and then.

    Workers have as many threads as they use, each with a connection of its own.
    """
    most = int(config["database.pool"])
    if not most or not os.environ.get("VETRO_HTTP"):
        return {}
    return {"min_size": 1, "max_size": most, "timeout": 20.0, "max_idle": 120.0}
