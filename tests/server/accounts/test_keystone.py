"""Tokens of a Keystone: a small one that really listens, with one user of its own and one for the service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client

from tests.server.accounts.listening_keystone import Answering, listening
from vetro.server import setup
from vetro.server.accounts import keystone
from vetro.server.accounts.authentication import caller_of_token
from vetro.server.config.config import ConfigError
from vetro.server.errors import NotSignedIn, Unavailable

pytestmark = pytest.mark.django_db
OPTIONS = {"username": "vetro", "password": "service-secret", "project_name": "service", "cache_seconds": 60}


def told(**more: Any) -> dict[str, Any]:
    return {
        "user": {"id": "u1", "name": "ann", "domain": {"id": "default", "name": "Default"}},
        "project": {"id": "p1", "name": "demo", "domain": {"id": "default", "name": "Default"}},
        "roles": [{"id": "r1", "name": "member"}, {"id": "r2", "name": "reader"}],
        "expires_at": (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "methods": ["password"],
        **more,
    }


class Keystone(ThreadingHTTPServer):
    """``tokens``: what it says of each; ``asked``: tokens it was shown; ``status``: answers with it if not 0."""

    daemon_threads = True

    def __init__(self) -> None:
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.status = 0
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(Answering):
    server: Keystone

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        password = body["auth"]["identity"]["password"]["user"]["password"]
        if password != "service-secret":
            return self.send(401, {"error": {"message": "no", "code": 401}})
        self.send(201, {"token": told(catalog=[])}, {"X-Subject-Token": "service-token"})

    def do_GET(self) -> None:
        if not self.path.startswith("/v3/auth/tokens"):
            return self.send(200, {"version": {"id": "v3.14", "status": "stable", "links": []}})
        if self.headers["X-Auth-Token"] != "service-token":
            return self.send(401, {}, {"WWW-Authenticate": "Keystone"})
        token = self.headers["X-Subject-Token"]
        self.server.asked.append(token)
        if self.server.status:
            return self.send(self.server.status, {})
        found = self.server.tokens.get(token)
        self.send(200, {"token": found}) if found is not None else self.send(404, {})


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    with listening(Keystone(), OPTIONS, monkeypatch) as server:
        yield server


def test_a_token_that_keystone_knows_makes_a_caller(cloud: Keystone) -> None:
    cloud.tokens["gAAAA-ann"] = told()
    caller = caller_of_token("gAAAA-ann", "10.0.0.9")
    assert (caller.user_id, caller.user_name, caller.project_id, caller.project_name) == ("u1", "ann", "p1", "demo")
    assert (caller.roles, caller.is_admin, caller.address) == (("member", "reader"), False, "10.0.0.9")


def test_role_admin_of_keystone_makes_an_administrator(cloud: Keystone) -> None:
    cloud.tokens["boss"] = told(roles=[{"id": "r", "name": "admin"}])
    assert caller_of_token("boss").is_admin


def test_keystone_is_asked_once_for_a_while(cloud: Keystone) -> None:
    cloud.tokens["ann"] = told()
    for _ in range(5):
        caller_of_token("ann")
    assert cloud.asked == ["ann"]


def test_an_answer_ends_with_the_token_even_while_it_is_remembered(cloud: Keystone) -> None:
    cloud.tokens["ann"] = told(expires_at=(datetime.now(UTC) + timedelta(seconds=0.3)).isoformat())
    caller_of_token("ann")
    moment = threading.Event()
    with pytest.raises(NotSignedIn):
        for _ in range(50):
            caller_of_token("ann")
            moment.wait(0.02)


def test_local_tokens_need_no_keystone(cloud: Keystone, ann: Any) -> None:
    assert caller_of_token(ann.token).user_name == "ann"
    assert cloud.asked == []


@pytest.mark.parametrize("token", ["unknown", "a\nb", "ä", "x" * 20_000])
def test_a_token_that_keystone_does_not_know_is_refused(cloud: Keystone, token: str) -> None:
    with pytest.raises(NotSignedIn):
        caller_of_token(token)


@pytest.mark.attack("accounts", "headers of keystonemiddleware")
@pytest.mark.parametrize("path", ["/v1/environments", "/v2/environments"])
def test_only_the_token_says_who_sends_a_request(cloud: Keystone, client: Client, path: str) -> None:
    """What OpenStack's services believe of a middleware in front of them is nothing here: anybody can send it."""
    cloud.tokens |= {
        "ann": told(),
        "gone": told(expires_at="2020-01-01T00:00:00.000000Z"),
        "nova": told(roles=[{"id": "r", "name": "service"}, {"id": "a", "name": "admin"}]),
    }
    confirmed = {
        "X-Service-Token": "nova", "X-Service-Identity-Status": "Confirmed", "X-Service-Roles": "service,admin",
        "X-Identity-Status": "Confirmed", "X-User-Id": "u1", "X-User-Name": "ann", "X-Project-Id": "p1",
        "X-Tenant-Id": "p1", "X-Roles": "admin", "X-Is-Admin-Project": "True", "OpenStack-System-Scope": "all",
    }  # fmt: skip
    assert client.get(path, headers=confirmed).status_code == 401
    # A service that vouches for it prolongs no token that has expired, as keystonemiddleware would.
    assert client.get(path, headers={**confirmed, "X-Auth-Token": "gone"}).status_code == 401
    assert client.get(path, headers={**confirmed, "X-Auth-Token": "ann"}).status_code == 200
    # Of the service's token nobody is asked: ann gets neither its roles, nor a refusal where it is unknown.
    refused = client.get("/v2/admin/users", headers={**confirmed, "X-Auth-Token": "ann"})
    assert refused.status_code == 403
    assert client.get(path, headers={"X-Service-Token": "unknown", "X-Auth-Token": "ann"}).status_code == 200
    assert set(cloud.asked) == {"gone", "ann"}


@pytest.mark.parametrize("said", [{"project": None}, {"expires_at": "2020-01-01T00:00:00.000000Z"}])
def test_a_token_without_project_or_time_left_is_refused(cloud: Keystone, said: dict[str, Any]) -> None:
    cloud.tokens["ann"] = told(**said)
    with pytest.raises(NotSignedIn):
        caller_of_token("ann")


@pytest.mark.parametrize("said", [{"user": "ann"}, {"roles": 5}, {"expires_at": "soon"}, {"project": {"id": "p"}}])
def test_an_answer_that_means_nothing_signs_nobody_in(cloud: Keystone, said: dict[str, Any]) -> None:
    cloud.tokens["ann"] = told(**said)
    with pytest.raises(Unavailable):
        caller_of_token("ann")


def test_a_keystone_in_trouble_is_not_taken_for_a_refusal(cloud: Keystone) -> None:
    cloud.status = 500
    with pytest.raises(Unavailable, match="500"):
        caller_of_token("ann")
    cloud.status = 0
    cloud.tokens["ann"] = told()
    assert caller_of_token("ann").user_name == "ann"


def test_a_keystone_that_is_not_there_or_refuses_us_is_503(monkeypatch: pytest.MonkeyPatch, cloud: Keystone) -> None:
    wrong = setup.config().changed({"keystone.options": {**OPTIONS, "password": "other"}})
    monkeypatch.setattr(setup, "_current", wrong)
    with pytest.raises(Unavailable):
        caller_of_token("ann")
    away = setup.config().changed({"keystone.url": "http://127.0.0.1:9"})
    monkeypatch.setattr(setup, "_current", away)
    with pytest.raises(Unavailable):
        caller_of_token("ann")


@pytest.mark.parametrize(
    ("url", "options", "says"),
    [
        ("keystone:5000", OPTIONS, "must begin with"),
        ("http://k", {"username": "x"}, "password"),
        ("http://k", {**OPTIONS, "colour": "red"}, "no option 'colour'"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(url: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        keystone.checked_settings(setup.config().changed({"keystone.url": url, "keystone.options": options}))
