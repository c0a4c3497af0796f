"""Workers link packages whose requirements another project brought: nobody's request waits for that."""

from __future__ import annotations

import logging
import threading

from django.db import Error, connections

from vetro.server.catalog import imports
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")


def begin() -> threading.Thread:
    """Links classes of such packages (`imports.link`), in a thread."""
    thread = threading.Thread(target=_link, name="link", daemon=True)
    thread.start()
    return thread


def _link() -> None:
    try:
        count = imports.link()
        if count:
            _log.info("the classes of %d packages are linked to what arrived after them", count)
    except (Error, OSError, VetroError) as error:  # the next round tries again
        _log.warning("packages that wait could not be linked: %s", error)
    finally:
        connections.close_all()
