"""A small Keystone that really listens: what those of several tests have in common."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import pytest

from vetro.server import setup

S = TypeVar("S", bound=ThreadingHTTPServer)


class Answering(BaseHTTPRequestHandler):
    """Answers in JSON and says nothing."""

    protocol_version = "HTTP/1.1"

    def send(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def listening(server: S, options: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[S]:
    """The server at work, and the settings of the service that lead to it."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(setup, "_current", setup.config().changed({"keystone.url": url, "keystone.options": options}))
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
