"""Receivers of notices on this machine: a web server and a mail relay, which fail when they are told to."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class WebReceiver:
    """Takes what is posted. ``answer``: the status of the next one; None cuts the connection before any answer."""

    def __init__(self, answer: Callable[[], int | None] = lambda: 204) -> None:
        self.answer = answer
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.body = b"the secret page of something inside"
        self.headers: dict[str, str] = {}
        self.release = threading.Event()
        self.release.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posts.append((self.path, dict(self.headers), data))
                receiver.release.wait(30)
                status = receiver.answer()
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(receiver.body)
                except OSError:
                    return

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/vetro"

    @property
    def ids(self) -> list[str]:
        """Of what arrived, in order."""
        return [headers["webhook-id"] for _, headers, _ in self.posts]

    def close(self) -> None:
        """Stops it."""
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class MailRelay:
    """Speaks SMTP. ``answer``: of the next mail: a status, 250 takes it; None cuts the connection after the mail was
    taken, before that is said. ``certificate`` (file, key): it offers STARTTLS.
    """

    def __init__(
        self, answer: Callable[[], int | None] = lambda: 250, certificate: tuple[Path, Path] | None = None
    ) -> None:
        self.answer = answer
        self.mails: list[tuple[list[str], bytes]] = []
        self.accounts: list[str] = []
        relay = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line: str) -> None:
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self) -> None:
                try:
                    self.talk()
                except (OSError, ssl.SSLError):
                    return

            def talk(self) -> None:
                self.say("220 here")
                receivers: list[str] = []
                while line := self.rfile.readline().decode().strip():
                    word = line.partition(" ")[0].upper()
                    if word == "EHLO":
                        self.say("250-here")
                        if certificate is not None:
                            self.say("250-STARTTLS")
                        self.say("250 AUTH PLAIN")
                    elif word == "STARTTLS" and certificate is not None:
                        self.say("220 go on")
                        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                        context.load_cert_chain(*certificate)
                        self.connection = context.wrap_socket(self.connection, server_side=True)
                        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                    elif word == "AUTH":
                        relay.accounts.append(line)
                        self.say("235 welcome")
                    elif word == "RCPT":
                        receivers.append(line.partition(":")[2].split(" ")[0].strip("<>"))
                        self.say("250 fine")
                    elif word == "DATA":
                        self.say("354 go on")
                        if not self.take(receivers):
                            return
                    elif word == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("250 fine")

            def take(self, receivers: list[str]) -> bool:
                data = b""
                while (part := self.rfile.readline()) not in (b".\r\n", b""):
                    data += part.removeprefix(b".")
                status = relay.answer()
                if status is None or status == 250:
                    relay.mails.append((receivers, data))
                if status is None:
                    return False
                self.say(f"{status} said")
                return True

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.port = int(self._server.server_address[1])

    def close(self) -> None:
        """Stops it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
