"""What an HTTP process does besides answering: writing down which tokens were used, telling the others how many
requests it has answered, and ending with its parent."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from django.db import Error, close_old_connections, connection

from vetro.server.accounts import token_usage
from vetro.server.http.processes import die_with_parent
from vetro.server.observe import request_counters

#: Seconds between two looks, and looks between two writes of times of use.
_PAUSE, _LOOKS = 1.0, 30
_log = logging.getLogger("vetro.serve")


def begin() -> None:
    """Starts a thread for it. The process is killed when the HTTP server that forked it is."""
    die_with_parent()
    threading.Thread(target=_work, name="background-work", daemon=True).start()


def _join() -> None:
    """Opens a connection to PostgreSQL before anybody asks something: `vetro doctor` counts servers by their sessions,
    and what a server may want counts, too, while it is idle. The pool keeps it."""
    if connection.vendor == "postgresql":
        with suppress(Error):  # who asks is told
            connection.ensure_connection()


def _work() -> None:
    _join()
    wake, look = threading.Event(), 0
    while not wake.wait(_PAUSE):
        look += 1
        try:
            request_counters.requests.share()
            if look % _LOOKS:
                continue
            close_old_connections()
            token_usage.flush()
        except Error as error:  # the next round tries again; nothing but a time of use is lost
            _log.warning("times of use of tokens could not be written: %s", type(error).__name__)
        except OSError:  # the service ends and its folder is gone, or the disk is full: only a figure is late
            continue
