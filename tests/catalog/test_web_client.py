"""The client with which lives of applications look at pages leaves nothing open."""

from __future__ import annotations

import threading
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.catalog.web_client import Browser


class Refusal(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"no\r\n")

    def log_message(self, *words: object) -> None:
        """Says nothing."""


def test_a_page_that_there_is_not_leaves_no_connection_open() -> None:
    """The error is the answer, with its connection: one that waited for the collector failed a run that had passed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(urllib.error.HTTPError, match="403") as caught:
            Browser().open(f"http://127.0.0.1:{server.server_port}/")
        answer = caught.value.fp
        assert answer is not None and answer.closed
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
