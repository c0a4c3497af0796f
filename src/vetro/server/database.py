"""The database: from an address to Django's settings."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from vetro.server.config import Config, ConfigError

#: SQLite: many readers beside one writer, nothing committed is lost with the power, writers wait for each other. Each
#: thread has a connection, so its cache is small; the mapped file is shared.
_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=20000; PRAGMA foreign_keys=ON;"
    "PRAGMA cache_size=-4000; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=134217728"
)


def database_settings(config: Config) -> dict[str, Any]:
    """What Django wants for setting ``database.url``. Raises `ConfigError`."""
    url = config["database.url"] or f"sqlite:///{config.data / 'vetro.db'}"
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        path = config.data / unquote(parts.path.removeprefix("/"))
        if parts.path.startswith("//") or parts.path.removeprefix("/").startswith("/"):
            path = config.data / unquote(parts.path[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        return {
            "ENGINE": "vetro.server.sqlite",
            "NAME": str(path),
            "CONN_MAX_AGE": None,
            "OPTIONS": {"init_command": _PRAGMAS, "transaction_mode": "IMMEDIATE", "timeout": 20},
        }
    if parts.scheme in ("postgresql", "postgres"):
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.removeprefix("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or dict(parse_qsl(parts.query)).get("host", ""),
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {k: v for k, v in parse_qsl(parts.query) if k != "host"},
        }
    raise ConfigError(f"'database.url' must begin with sqlite:/// or postgresql://, not '{parts.scheme}'")
