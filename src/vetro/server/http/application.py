"""`Application`: the WSGI application. What every request has in common happens here, around Django.

``/v1`` is answered without Django's middleware and resolver, which its clients have no use for, ``/static`` from files
and without a line in the log; everything else goes through Django. Each other answer bears an id,
``X-Openstack-Request-Id``, that log lines of the request bear, too.

The HTTP server hands over paths decoded, so an encoded slash in a segment is a slash, as it was in Murano.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.client import responses
from io import BytesIO
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import connections
from django.http import HttpResponseBase
from django.urls import get_resolver, set_script_prefix

from vetro.server import large_requests
from vetro.server.accounts.policy import is_admin
from vetro.server.api.v1 import endpoints as _endpoints  # registers them
from vetro.server.api.v1.discovery import STATUS, TYPE, at_root
from vetro.server.api.v1.routing import respond
from vetro.server.api.v2.failures import of_error
from vetro.server.config.config import Config
from vetro.server.errors import Invalid, ServiceError, TooLarge
from vetro.server.http.concurrency import Lane, whose
from vetro.server.http.large_transfer import Files, SentResponse, hand_over, there
from vetro.server.http.request_bodies import Bodies, BodyRefused, Received
from vetro.server.http.static_files import PREFIX, Static
from vetro.server.observe.current_request import current
from vetro.server.observe.requests import answered
from vetro.server.requests.host_names import Hosts
from vetro.server.requests.proxies import Proxies
from vetro.server.requests.slow_requests import held
from vetro.server.setup import config

StartResponse = Callable[..., Any]
_ROOT = f"{STATUS} {HTTPStatus(STATUS).phrase}"

_MISDIRECTED = "421 Misdirected Request"
_NOT_HERE = b"The service is not called by this name (setting server.allowed_hosts).\n"


def load() -> None:
    """Loads everything that the first request would wait for; no database."""
    assert _endpoints is not None and get_resolver().url_patterns
    is_admin(())


class Request(WSGIRequest):
    """A request whose body `Bodies` has measured: what Django limits beside that are fields of forms with files."""

    _read_started: bool

    @property
    def body(self) -> bytes:
        """All of the body."""
        if not hasattr(self, "_body") and not self._read_started:
            self._body = self.read()
            self._stream = BytesIO(self._body)
        return super().body


class Application(WSGIHandler):
    """WSGI: ``application(environ, start_response)``."""

    request_class = Request

    def __init__(self, settings: Config | None = None) -> None:
        super().__init__()
        settings = settings or config()
        self._proxies = Proxies(settings["server.trusted_proxies"])
        self._static = Static(settings)
        self._bodies = Bodies(settings)
        self._hosts = Hosts(settings)
        self._lane = Lane()
        self._files = Files()
        load()

    def __call__(  # type: ignore[override]
        self, environ: dict[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        """The answer to one request. Never raises, short of a defect in this module."""
        began = time.perf_counter()
        environ["SCRIPT_NAME"] = ""
        environ["vetro.request_id"] = request_id = new_request_id()
        self._proxies.apply(environ)
        if not self._hosts.allow(environ.get("HTTP_HOST", "")):
            start_response(_MISDIRECTED, [("Content-Type", "text/plain"), ("X-Openstack-Request-Id", request_id)])
            answered(environ, 421, time.perf_counter() - began)
            return [_NOT_HERE]
        root = at_root(environ)
        if root is not None:
            start_response(_ROOT, [("Content-Type", TYPE), ("X-Openstack-Request-Id", request_id)])
            answered(environ, STATUS, time.perf_counter() - began)
            return [root]
        token = current.set(environ)
        try:
            try:
                self._bodies.prepare(environ)
            except BodyRefused as refused:
                kind, body = _refusal(environ["PATH_INFO"], refused)
                start_response(refused.status_line, [("Content-Type", kind), ("X-Openstack-Request-Id", request_id)])
                answered(environ, refused.status, time.perf_counter() - began)
                return [body]
            if environ["PATH_INFO"].startswith(PREFIX):
                return self._static(environ, start_response)
            with self._bodies.close(environ):
                made = self._bounded(environ)
                self._bodies.drain(environ)
            answered(environ, made.code, time.perf_counter() - began, made.route)
        finally:
            current.reset(token)
            _release_connection()
        start_response(made.status, [*made.headers, ("X-Openstack-Request-Id", request_id)])
        return made.parts

    def answer(self, environ: dict[str, Any]) -> SentResponse:
        """The answer to a request that was prepared, whatever it loads."""
        request = Request(environ)
        path = request.path_info
        if path.startswith("/v1/") or path == "/v1":
            plain = respond(request, path[4:].replace("%", "%25"))  # endpoints decode segments themselves
            parts = [plain.body] if isinstance(plain.body, bytes) else plain.body
            return SentResponse(f"{plain.status} {responses[plain.status]}", [*plain.headers.items()], parts)
        set_script_prefix("/")
        response: HttpResponseBase = self.get_response(request)
        headers = list(response.items())
        if response.cookies:
            headers.extend(("Set-Cookie", morsel.output(header="").strip()) for morsel in response.cookies.values())
        match = request.resolver_match
        made = SentResponse(
            f"{response.status_code} {response.reason_phrase}", headers, [], None if match is None else match.route
        )
        if response.streaming:
            made.parts = _Stream(response)
        else:
            made.parts = [cast(Any, response).content]
            response.close()  # tells Django that the request is over
        return made

    def _bounded(self, environ: dict[str, Any]) -> SentResponse:
        """The answer of this process, or of the one for large requests."""
        try:
            with large_requests.bounded():
                return self.answer(environ)
        except large_requests.LargeRequest:
            _release_connection()
        caller, sender = environ.get("vetro.caller"), whose(environ)
        body = environ["wsgi.input"]
        received = body if isinstance(body, Received) else None
        try:
            with held(sender if caller is None else caller.project_id), self._lane.turn(sender):
                if there():
                    made = hand_over(environ, sender, received.whole() if received is not None else None)
                    return made if isinstance(made.parts, list) else self._files.sent(made, sender)
                if received is not None:
                    received.rewind()
                return self.answer(environ)
        except (ServiceError, RequestDataTooBig) as refusal:
            if received is not None:
                received.rewind()
            with large_requests.bounded(refusal):  # so it comes out as every error does there
                return self.answer(environ)


def _refusal(path: str, refused: BodyRefused) -> tuple[str, bytes]:
    """Type and text of what a refused body is answered with, in the form that errors have there."""
    if not path.startswith("/v2/"):
        return "text/plain", str(refused).encode()
    text = str(refused).strip()
    answer = of_error((TooLarge if refused.status == 413 else Invalid)(f"{text[:1].upper()}{text[1:]}."))
    return "application/json", answer.content


def _release_connection() -> None:
    """Gives the connection back to its pool, closes one that broke; none that a transaction stands on."""
    db = connections["default"]
    if db.connection is not None and not db.in_atomic_block:
        db.close_if_unusable_or_obsolete()


def new_request_id() -> str:
    """``req-`` and a random UUID."""
    digits = os.urandom(16).hex()
    return f"req-{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class _Stream:
    """A response whose parts are made while they are sent; closing it closes what it stands on."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._parts = iter(response)

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> bytes:
        try:
            return cast(bytes, next(self._parts))
        except StopIteration:
            self.close()  # not every server asks for it
            raise

    def close(self) -> None:
        """Called by the HTTP server at the end, also when the client went away."""
        self._response.close()
