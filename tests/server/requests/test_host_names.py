"""Names by which the service may be called, and who may read its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.server.http.test_application import Answer, application, environ
from vetro.server import setup
from vetro.server.config.config import Config
from vetro.server.requests.host_names import Hosts, names

__all__ = ["application"]
pytestmark = [pytest.mark.django_db, pytest.mark.attack("pages", "L")]


def hosts(tmp_path: Path, **values: Any) -> Hosts:
    return Hosts(
        Config.load(tmp_path, overrides={f"server.{name}": value for name, value in values.items()}, environ={})
    )


def test_by_default_it_answers_to_where_it_is(tmp_path: Path) -> None:
    here = hosts(tmp_path)
    assert all(map(here.allow, ("localhost", "localhost:8082", "127.0.0.1:8082", "[::1]:8082", "LOCALHOST.", "")))
    assert not any(map(here.allow, ("evil.example", "evil.example:8082", "192.0.2.1", "localhost.evil.example", "*")))
    served = hosts(tmp_path, host="192.0.2.1", public_url="https://Catalog.example.org:444/x")
    assert all(map(served.allow, ("192.0.2.1:8082", "catalog.example.org", "catalog.example.org:444")))
    assert not any(map(served.allow, ("example.org", "x.catalog.example.org", "192.0.2.2")))


def test_on_all_addresses_each_address_is_a_name(tmp_path: Path) -> None:
    anywhere = hosts(tmp_path, host="0.0.0.0")
    assert all(map(anywhere.allow, ("192.0.2.7:80", "[2001:db8::1]:80", "localhost")))
    assert not any(map(anywhere.allow, ("rebound.example", "1.2.3.4.example", "0x7f000001")))
    assert not any(map(anywhere.allow, ("[2001:db8::1].rebound.example", "[::1]x:80", "[::1]:", "[::1]:80.example")))


def test_what_is_set_counts_and_nothing_else(tmp_path: Path) -> None:
    given = hosts(tmp_path, allowed_hosts=[".example.org", "one"], public_url="https://other.example.net")
    assert all(map(given.allow, ("example.org", "a.example.org:1", "ONE")))
    assert not any(map(given.allow, ("other.example.net", "localhost", "badexample.org")))
    assert hosts(tmp_path, allowed_hosts=["*"]).allow("anything")
    assert names(Config.load(tmp_path, overrides={"server.allowed_hosts": ["A"]}, environ={})) == ["a"]


@pytest.mark.parametrize("path", ["/", "/v1/environments", "/v2/", "/app/login", "/static/x", "/metrics", "/health"])
def test_another_name_gets_nothing(application: Any, path: str) -> None:
    answer = Answer(application, environ("GET", path, HTTP_HOST="rebound.example"))
    assert answer.status == 421 and b"server.allowed_hosts" in answer.body
    assert Answer(application, environ("GET", path, HTTP_HOST="localhost:8082")).status != 421


def test_metrics_are_for_this_machine(application: Any) -> None:
    assert Answer(application, environ("GET", "/metrics", REMOTE_ADDR="127.0.0.1")).status == 200
    assert Answer(application, environ("GET", "/metrics", REMOTE_ADDR="::1")).status == 200
    for more in (
        {"REMOTE_ADDR": "192.0.2.1"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "127.0.0.1"},  # a proxy on this machine
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=192.0.2.1"},
    ):
        answer = Answer(application, environ("GET", "/metrics", **more))
        assert answer.status == 401 and b"vetro_" not in answer.body and b"observe.metrics_token" in answer.body


def test_metrics_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"observe.metrics_token": "scrape"}))
    for headers, status in (({"authorization": "Bearer scrape"}, 200), ({"authorization": "Bearer x"}, 401), ({}, 401)):
        assert Client(headers=headers).get("/metrics", REMOTE_ADDR="192.0.2.1").status_code == status
    assert Client().get("/metrics").status_code == 401  # where there is one, it is asked of everybody
