"""The HTTP server: ``python -m vetro.server.http.server`` (`vetro serve` starts it). Granian speaks HTTP in
``server.processes`` processes; in each, a `Gateway` hands requests to the application in a pool of threads."""

from __future__ import annotations

import gc
import os
import resource

from django.db import connections

from vetro.server.config.config import Config, http_processes
from vetro.server.http.processes import GRACE, PARENT, die_with_parent
from vetro.server.setup import setup

#: Seconds after which a connection is closed on which no (whole) head of a request comes, also between two requests.
IDLE_SECONDS = 15


def _connections() -> int:
    """How many connections a process may hold: as many as it may open files, less some for everything else."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 65536
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(256, min(hard, 65536) - 512)


def _load() -> None:
    """Loads what every process needs before they are forked: they share the memory, and begin at once."""
    gc.disable()  # what is loaded stays: looking through it for garbage would take a fifth of the start
    setup()
    from vetro.server.http.application import load

    load()
    connections.close_all()
    gc.collect()
    gc.freeze()  # collections would write to pages that are shared
    gc.enable()


def main() -> None:
    """Serves until SIGTERM."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    die_with_parent()
    os.environ[PARENT] = str(os.getpid())  # those that are forked must not outlive this one (`background_work`)
    settings = Config.load()
    count = http_processes(settings)
    if count > 1:
        _load()
    Granian(
        "vetro.server.http.wsgi:gateway",
        address=str(settings["server.host"]),
        port=int(settings["server.port"]),
        interface=Interfaces.ASGINL,
        # It waits for the first bytes of a connection without a limit where it has to find out the version.
        http=HTTPModes.http1,
        workers=count,
        # It counts connections, also those that are merely kept open, and lets nobody in beyond. Requests that no
        # thread is free for wait all the same.
        backpressure=_connections(),
        backlog=2048,
        websockets=False,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000),
        log_level=LogLevels.error,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE,
        process_name=None,
        pid_file=None,
    ).serve()


if __name__ == "__main__":
    os.environ["VETRO_HTTP"] = "1"
    main()
