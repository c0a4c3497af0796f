"""procrastinate as the dispatcher of Vetro: an established queue in the same PostgreSQL carries tasks to workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vetro.server.config.config import Config, ConfigError
from vetro.server.tasks.backends import Backend

if TYPE_CHECKING:
    from vetro.server.tasks.dispatcher import Dispatcher

#: Connections of a worker that fetches jobs: at most so many in a pool, and one for each of two that listen.
POOL, LISTENERS = 4, 2


def _check(config: Config) -> None:
    if not str(config["database.url"]).startswith(("postgresql:", "postgres:")):
        raise ConfigError(
            "'dispatch.backend' = 'procrastinate' needs PostgreSQL: set 'database.url' to postgresql://…,"
            " or 'dispatch.backend' to 'embedded'"
        )


def _make(config: Config, name: str) -> Dispatcher:
    from vetro_procrastinate.dispatcher import Procrastinate  # it needs Django's tables

    return Procrastinate(config, name)


#: What the entry point names.
backend = Backend(
    make=_make,
    check=_check,
    apps=("procrastinate.contrib.django",),
    labels=("procrastinate",),
    settings={"PROCRASTINATE_AUTODISCOVER_MODULE_NAME": ""},  # its tasks are ours, no app of Vetro has any
    routers=("vetro_procrastinate.router.OnlyOnPostgresql",),
    connections=POOL + LISTENERS,
)
