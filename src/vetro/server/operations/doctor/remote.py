"""`ask`: what a server says of itself from here: TLS, readiness, clock, and what strangers can see."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from vetro.data_classes import dataclass
from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic

#: Seconds for one request.
_PATIENCE = 10.0
#: Seconds by which clocks may differ, and days that a certificate should still hold.
_CLOCKS, _DAYS = 60.0, 21


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    date: str
    #: Seconds since the epoch at which the certificate ends; None without TLS.
    ends: float | None
    seconds: float


def ask(url: str) -> Iterator[Diagnostic]:
    """Findings of the server at this address; needs neither its settings nor a token."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        yield Diagnostic("server", ERROR, f"{url} is no address", "https://NAME or http://HOST:PORT")
        return
    base = parts.path.rstrip("/")
    try:
        health = _get(parts.scheme, parts.hostname, parts.port, f"{base}/health")
        ready = _get(parts.scheme, parts.hostname, parts.port, f"{base}/ready")
        metrics = _get(parts.scheme, parts.hostname, parts.port, f"{base}/metrics")
    except ssl.SSLCertVerificationError as error:
        hint = "give the proxy a certificate for this name, of an authority that this machine knows"
        yield Diagnostic("server", ERROR, f"the certificate of {url} is not good: {error.verify_message}", hint)
        return
    except (OSError, http.client.HTTPException) as error:
        text = f"{url} does not answer: {error or type(error).__name__}"
        yield Diagnostic("server", ERROR, text, "is it running ('vetro serve'), and is this its address and port?")
        return
    if health.status != 200 or b'"ok"' not in health.body:
        text = f"{url}/health answers {health.status}: this is no Vetro, or a proxy has none behind it"
        yield Diagnostic("server", ERROR, text, "see the log of the proxy")
        return
    yield Diagnostic("server", OK, f"{url} answers after {health.seconds * 1000:.0f} ms")
    yield from _ready(ready)
    yield from _clock(health)
    if health.ends is not None:
        days = (health.ends - time.time()) / 86400
        text = f"the certificate ends in {days:.0f} days"
        yield Diagnostic("server", WARNING, text, "renew it") if days < _DAYS else Diagnostic("server", OK, text)
    elif parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        yield Diagnostic("server", WARNING, "passwords go to it unencrypted", "put a proxy with TLS before it")
    if metrics.status == 200 and b"vetro_" in metrics.body and parts.scheme == "https":
        hint = "close /metrics at the proxy, unless this machine is meant to see it"
        yield Diagnostic("server", WARNING, "/metrics can be read at the address of the users", hint)


def _ready(answer: _Answer) -> Iterator[Diagnostic]:
    try:
        said = json.loads(answer.body)
        missing = [f"{name}: {word}" for name, word in said.items() if name != "status" and word != "ok"]
    except (ValueError, AttributeError):
        missing = [f"/ready answers {answer.status}"]
    if answer.status == 200 and not missing:
        yield Diagnostic("server", OK, "it is ready: database and workers")
    else:
        hint = "run 'vetro doctor' on its machine, with its settings"
        yield Diagnostic("server", ERROR, f"it is not ready ({', '.join(missing)})", hint)


def _clock(answer: _Answer) -> Iterator[Diagnostic]:
    try:
        apart = abs(parsedate_to_datetime(answer.date).timestamp() - time.time())
    except ValueError:
        return
    if apart > _CLOCKS:
        text = f"its clock and that of this machine differ by {apart:.0f} s"
        yield Diagnostic("server", WARNING, text, "let both follow a time server")


def _get(scheme: str, host: str, port: int | None, path: str) -> _Answer:
    began = time.monotonic()
    connection: http.client.HTTPConnection
    if scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=ssl.create_default_context())
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        connection.request("GET", path, headers={"Accept": "*/*"})
        ends = _ends(connection.sock)
        answer = connection.getresponse()
        return _Answer(answer.status, answer.read(), answer.headers.get("Date", ""), ends, time.monotonic() - began)
    finally:
        connection.close()


def _ends(sock: socket.socket | None) -> float | None:
    if not isinstance(sock, ssl.SSLSocket):
        return None
    certificate = sock.getpeercert()
    when = certificate.get("notAfter") if certificate else None
    return ssl.cert_time_to_seconds(str(when)) if when else None
