"""The application, as HTTP servers load it: ``vetro.server.http.wsgi:gateway`` (ASGI), which ours does, or
``vetro.server.http.wsgi:application`` (WSGI)."""

from __future__ import annotations

import gc

from vetro.server.setup import setup

_config = setup()

from vetro.server.http.application import Application  # noqa: E402
from vetro.server.http.background_work import begin  # noqa: E402
from vetro.server.http.gateway import Gateway  # noqa: E402
from vetro.server.observe import logs, traces  # noqa: E402 - Django has to be set up before

logs.configure(_config)
traces.configure(_config)
begin()
application = Application(_config)
gateway = Gateway(application, int(_config["server.threads"]) + int(_config["server.streams"]))
# What is there now stays; looking through it for garbage stops all requests for a tenth of a second.
gc.collect()
gc.freeze()
