"""Discovery for programs that ask for ``/``: the same answer as Django's, without Django."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client, RequestFactory, override_settings

from vetro.server.api.v1.discovery import at_root, discovery


def environ(path: str = "/", method: str = "GET", **more: Any) -> dict[str, Any]:
    return {**RequestFactory().generic(method, path).environ, "CONTENT_LENGTH": "", **more}


@pytest.mark.parametrize(
    "more",
    [{}, {"HTTP_HOST": "apps.example:8443", "wsgi.url_scheme": "https"}, {"HTTP_HOST": "[::1]:80"}],
    ids=["no host", "https", "IPv6"],
)
def test_it_is_what_django_would_answer(more: dict[str, str]) -> None:
    request = RequestFactory(**more).get("/", secure=more.get("wsgi.url_scheme") == "https")
    assert at_root(environ(**more)) == discovery(request).content


def test_people_and_anything_else_go_through_django() -> None:
    assert at_root(environ(HTTP_ACCEPT="text/html,*/*")) is None
    assert at_root(environ("/other")) is None
    assert at_root(environ(method="POST")) is None
    assert at_root(environ(CONTENT_LENGTH="3")) is None
    assert at_root(environ(HTTP_TRANSFER_ENCODING="chunked")) is None
    assert at_root(environ(HTTP_HOST="x" * 300)) is None


def test_hosts_that_are_not_ours_are_refused_by_django(db: None) -> None:
    with override_settings(ALLOWED_HOSTS=["ours.example"]):
        assert at_root(environ(HTTP_HOST="theirs.example")) is None
        assert Client(headers={"host": "theirs.example"}).get("/").status_code == 400
        answer = at_root(environ(HTTP_HOST="ours.example"))
    assert answer is not None
    assert json.loads(answer)["versions"][0]["links"][0]["href"] == "http://ours.example/v1/"
