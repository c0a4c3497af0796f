"""A storage that speaks as much of S3 as a blob store needs, on this machine: objects by path, lists by prefix."""

from __future__ import annotations

import threading
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class Site:
    """``objects``: ``bucket/key`` -> bytes, ``times`` when they were written, by ``clock`` (seconds since the epoch).
    ``refuses``: every request is answered by this status, when it is one. ``hostile`` answers in its place."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.times: dict[str, float] = {}
        self.clock = 1795255200.0  # 21 November 2026, 10:00
        self.refuses = 0
        self.hostile: Callable[[Any], None] | None = None
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status: int, body: bytes = b"", kind: str = "application/xml") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                at = site.times.get(unquote(urlsplit(self.path).path).lstrip("/"), site.clock)
                self.send_header("Last-Modified", formatdate(at, usegmt=True))
                self.send_header("ETag", '"e"')
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def handle_request(self) -> None:
                parts = urlsplit(self.path)
                key = unquote(parts.path).lstrip("/")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                site.asked.append(self.path)
                if site.hostile is not None:
                    site.hostile(self)
                elif site.refuses:
                    code = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
                    self.answer(site.refuses, code)
                elif "/" not in key:
                    self.answer(200, site.listed(key, parse_qs(parts.query)))
                elif self.command == "PUT":
                    site.objects[key] = body
                    site.times[key] = site.clock
                    self.answer(200)
                elif self.command == "DELETE":
                    site.objects.pop(key, None)
                    self.answer(204)
                elif key in site.objects:
                    self.answer(200, site.objects[key], "application/octet-stream")
                else:
                    self.answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")

            do_GET = do_PUT = do_HEAD = do_DELETE = handle_request

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def listed(self, bucket: str, query: dict[str, list[str]]) -> bytes:
        """Keys below a prefix, and the folders there."""
        prefix = query.get("prefix", [""])[0]
        keys, folders = [], set()
        for name in sorted(self.objects):
            key = name.removeprefix(f"{bucket}/")
            if key.startswith(prefix):
                folder, slash, _ = key[len(prefix) :].partition("/")
                if slash:
                    folders.add(f"{prefix}{folder}/")
                else:
                    keys.append(key)
        items = "".join(f"<Contents><Key>{escape(key)}</Key></Contents>" for key in keys)
        items += "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in sorted(folders))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
