"""The WSGI application around Django: ids, paths, bodies, and that nothing of the process leaks into requests."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from vetro.server import setup
from vetro.server.api.v1.routing import Plain
from vetro.server.caller import Caller
from vetro.server.http import application as wsgi_application
from vetro.server.http.application import Application

pytestmark = pytest.mark.django_db
#: Somebody who is signed in.
KNOWN: dict[str, Any] = {"vetro.caller": Caller("u", "u", "p", "p", (), False, None, "")}


class Answer:
    """What a WSGI server would send."""

    def __init__(self, application: Any, environ: dict[str, Any]) -> None:
        body = application(dict(environ), self._start)
        self.body = b"".join(body)
        if hasattr(body, "close"):
            body.close()

    def _start(self, status: str, headers: list[tuple[str, str]]) -> None:
        self.status = int(status[:3])
        self.headers = dict(headers)


@pytest.fixture
def application() -> Iterator[Application]:
    # Tests run in a transaction, which a request would take for one that was forgotten, and close the connection.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Application(setup.config().changed({"server.max_body_mib": 1}))
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def environ(method: str, path: str, body: bytes = b"", **more: Any) -> dict[str, Any]:
    found = RequestFactory().generic(method, "/", body, content_type="application/json").environ
    return {**found, "PATH_INFO": path, "wsgi.input": io.BytesIO(body), **more}


def test_every_answer_bears_an_id_of_its_own(application: Application) -> None:
    answers = [Answer(application, environ("GET", path)) for path in ("/", "/v1/x", "/health", "/v2/none", "/app/x")]
    ids = [answer.headers["X-Openstack-Request-Id"] for answer in answers]
    assert len(set(ids)) == 5
    assert all(one.startswith("req-") and len(one) == 40 for one in ids)


def test_v1_is_answered_as_through_django(application: Application, ann: Any) -> None:
    given = environ("GET", "/v1/nope", HTTP_X_AUTH_TOKEN=ann.token, HTTP_ACCEPT="application/json")
    direct, through = Answer(application, given), ann.get("/v1/nope", headers={"accept": "application/json"})
    assert (direct.status, json.loads(direct.body)) == (through.status_code, through.json())


def test_a_percent_sign_in_a_segment_is_not_decoded_twice(
    application: Application, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.server.api.v1 import routing

    seen = []
    monkeypatch.setattr(routing, "find", lambda method, path: seen.append(path))
    Answer(application, environ("GET", "/v1/x/100%41", HTTP_X_AUTH_TOKEN=ann.token))
    ann.get("/v1/x/100%2541")
    assert seen == ["x/100%2541", "x/100%2541"]


def test_paths_that_are_no_utf8_are_answered(application: Application) -> None:
    for path in ("/v1/\xff\xfe", "/\xff", "//", "/v1//", "/v1/\x00", "/v1/" + "a/" * 2000):
        assert Answer(application, environ("GET", path)).status in (300, 400, 401, 404)


def _plain(body: bytes = b"") -> Plain:
    return Plain(200, body, {})


def test_a_body_that_is_too_large_is_refused_before_it_is_read(application: Application) -> None:
    given = environ("POST", "/v1/environments", CONTENT_LENGTH=str(2 << 20))
    given["wsgi.input"] = None  # reading would fail
    answer = Answer(application, given)
    assert (answer.status, b"1 MiB" in answer.body) == (413, True)
    assert "X-Openstack-Request-Id" in answer.headers


@pytest.mark.parametrize(("length", "status", "code"), [(str(2 << 20), 413, "SRV413"), ("x", 400, "SRV401")])
def test_a_refused_body_is_told_as_other_errors_of_v2(
    application: Application, length: str, status: int, code: str
) -> None:
    answer = Answer(application, environ("POST", "/v2/environments", CONTENT_LENGTH=length))
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["status"], error["code"]) == (status, status, code)
    assert answer.headers["Content-Type"] == "application/json" and error["message"]


@pytest.mark.parametrize("length", ["x", "-1", "1e3", "²"])
def test_a_length_that_is_none_is_refused(application: Application, length: str) -> None:
    assert Answer(application, environ("POST", "/v1/environments", CONTENT_LENGTH=length)).status == 400


def chunked(body: bytes, **more: Any) -> dict[str, Any]:
    given = environ("POST", "/v1/x", body, HTTP_TRANSFER_ENCODING="chunked", **more)
    del given["CONTENT_LENGTH"]
    return given


def test_a_body_in_chunks_arrives_whole(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi_application, "respond", lambda request, path: _plain(request.body))
    for size in (300_000, 1 << 20):
        assert Answer(application, chunked(b"x" * size, **KNOWN)).body == b"x" * size


def test_a_body_in_chunks_is_bounded_and_not_read_before_somebody_may_send_it(
    application: Application, ann: Any
) -> None:
    given = chunked(b"x" * ((1 << 20) + 1))
    given["PATH_INFO"] = "/v1/environments"
    assert Answer(application, given).status == 401
    assert given["wsgi.input"].tell() == 0
    assert Answer(application, {**given, "HTTP_X_AUTH_TOKEN": ann.token}).status == 413


def test_a_refused_body_is_read_so_that_its_sender_sees_the_answer(application: Application, ann: Any) -> None:
    given = environ("POST", "/v1/nope", b"x" * 100_000, HTTP_X_AUTH_TOKEN=ann.token)
    assert Answer(application, given).status == 404
    assert given["wsgi.input"].tell() == 100_000


@pytest.mark.attack("bodies", "H5")
@pytest.mark.parametrize("path", ["/v1/environments", "/v2/environments", "/v2/auth/login", "/app/login", "/static/x"])
def test_of_strangers_little_is_read(application: Application, path: str) -> None:
    given = environ("POST", path, b"x" * 100_000)
    assert Answer(application, given).status in (400, 401, 403, 404, 405, 413)
    assert given["wsgi.input"].tell() == 0
    given = chunked(b"x" * 1_000_000)
    given["PATH_INFO"] = path
    assert Answer(application, given).status in (400, 401, 403, 404, 405, 413)
    assert given["wsgi.input"].tell() <= 3 << 16


def test_an_upload_in_chunks_arrives(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi_application, "respond", lambda request, path: _plain(request.FILES["f"].read()))
    body = b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n' + b"y" * 200_000 + b"\r\n--b--\r\n"
    given = {**chunked(body, **KNOWN), "CONTENT_TYPE": "multipart/form-data; boundary=b"}
    assert Answer(application, given).body == b"y" * 200_000


def test_apis_set_no_cookies_and_pages_get_headers(application: Application, ann: Any) -> None:
    api = Answer(application, environ("POST", "/v1/environments", b"{}", HTTP_X_AUTH_TOKEN=ann.token))
    assert not {"Set-Cookie", "Content-Security-Policy", "Vary"} & set(api.headers)
    page = Answer(application, environ("GET", "/app/none"))
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"


def test_pages_refuse_forms_of_other_sites_and_apis_do_not_ask() -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    assert client.post("/app/none").status_code == 403
    assert client.post("/v1/environments").status_code == 401
