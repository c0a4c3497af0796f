"""The WSGI application, as HTTP servers load it: ``vetro.server.wsgi:application``."""

from __future__ import annotations

from django.core.wsgi import get_wsgi_application

from vetro.server.setup import setup

setup()
application = get_wsgi_application()
