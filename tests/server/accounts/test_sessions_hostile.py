"""Links, sessions and tokens while something changes at the same moment, or the clock does; planted cookies, hosts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from tests.server.accounts.listening_keystone import listening
from tests.server.accounts.test_keystone_login import OPTIONS, Keystone, enter
from tests.server.web.conftest import browser
from vetro.server.accounts import service
from vetro.server.accounts.authentication import caller_of_token
from vetro.server.accounts.models import Membership, Project, Token, User
from vetro.server.caller import SYSTEM
from vetro.server.errors import NotSignedIn

__all__ = ["browser"]

pytestmark = pytest.mark.attack("accounts", "races, sessions, clocks")
Browser = Callable[[Any], Client]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    with listening(Keystone(), OPTIONS, monkeypatch) as server:
        yield server


@pytest.mark.django_db(transaction=True)
def test_one_of_many_requests_uses_a_link() -> None:
    user = User.objects.create(username="carol")
    project = Project.objects.create(name="demo")
    Membership.objects.create(user=user, project=project)
    _, secret = service.create_link(SYSTEM, user, project)
    together = threading.Barrier(6)

    def use(_: int) -> str:
        try:
            together.wait(30)
            answer = Client().post(f"/app/link/{secret}")
            return str(answer.get("Location") or answer.status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        places = sorted(pool.map(use, range(6)))
    assert places == ["/app/", *["401"] * 5]
    assert Session.objects.count() == 1


def test_a_planted_session_is_not_the_one_that_is_signed_in(ann: Any, browser: Browser) -> None:
    """Whoever sets somebody's cookie before she signs in has nothing of it, whether the server knew the key or not."""
    service.set_password(SYSTEM, service.find_user("ann"), "a long password")
    known = browser(ann).cookies["vetro_session"].value
    for key in (known, "planted" * 4, "", "a\0b", "x" * 5000):
        client = Client()
        client.cookies["vetro_session"] = key
        answer = client.post("/app/login", {"name": "ann", "password": "a long password"})
        assert answer.status_code == 302
        assert client.cookies["vetro_session"].value not in (key, "")
        intruder = Client()
        intruder.cookies["vetro_session"] = key
        assert "/app/login" in intruder.get("/app/catalog/").get("Location", "")


def test_cookies_are_for_this_host_and_leave_out_others(ann: Any, browser: Browser) -> None:
    service.set_password(SYSTEM, service.find_user("ann"), "a long password")
    answer = Client().post("/app/login", {"name": "ann", "password": "a long password"})
    for cookie in answer.cookies.values():
        # No Domain: not sent to other names below the same one; SameSite: not with what other sites send.
        assert (cookie["domain"], cookie["samesite"], cookie["path"]) == ("", "Lax", "/")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "evil.example/../x", "[::1", "a\r\nb", "x" * 300])
def test_a_host_that_somebody_wrote_is_in_no_link_and_leads_nowhere(root: Any, browser: Browser, host: str) -> None:
    client = browser(root)
    for answer in (
        root.post("/v2/admin/users/root/link?project=operators", HTTP_HOST=host),
        client.get("/app/people/", HTTP_HOST=host),
        Client().get("/app/", HTTP_HOST=host),
        Client().post("/app/login", {"name": "a", "password": "b", "next": "/app/"}, HTTP_HOST=host),
    ):
        assert answer.status_code < 500
        assert "evil" not in answer.get("Location", "")
        if answer.status_code == 201:
            assert "evil" not in answer.json()["url"]


@pytest.mark.django_db
def test_an_expired_session_does_not_come_back_with_the_clock(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    Session.objects.update(expire_date=datetime.now(UTC) - timedelta(seconds=1))
    assert client.get("/app/catalog/").status_code == 302
    assert Client().get("/app/catalog/").status_code == 302


def test_what_is_dropped_stays_dropped_when_the_clock_goes_back(
    ann: Any, root: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, project = service.find_user("ann"), service.find_project("demo")
    token, text = service.create_token(SYSTEM, user, project, days=1)
    service.revoke_token(SYSTEM, token.id)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with pytest.raises(NotSignedIn):
        caller_of_token(text)


def test_a_role_that_goes_ends_what_the_next_request_may(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    assert (ann.get("/v2/environments").status_code, client.get("/app/catalog/").status_code) == (200, 200)
    service.grant(SYSTEM, service.find_user("ann"), service.find_project("demo"), "reader")
    service.revoke_role(SYSTEM, service.find_user("ann"), service.find_project("demo"), "member")
    assert ann.post("/v2/environments", {"name": "x"}).status_code == 403
    assert client.post("/app/environments/new", {"name": "x"}).status_code == 403
    service.revoke_role(SYSTEM, service.find_user("ann"), service.find_project("demo"), "reader")
    assert (ann.get("/v2/environments").status_code, client.get("/app/catalog/").status_code) == (401, 302)


@pytest.mark.parametrize("how", ["revoked", "locked", "role", "password"])
def test_a_stream_ends_with_what_it_was_opened_by(
    ann: Any, browser: Browser, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.server.api.v2 import stream

    monkeypatch.setattr(stream, "TOKEN", 0.0)
    client = browser(ann) if how == "password" else ann._client
    answer = client.get("/v2/events?after=0")
    parts = iter(answer.streaming_content)
    assert b"retry" in next(parts)
    user, project = service.find_user("ann"), service.find_project("demo")
    if how == "revoked":
        service.revoke_token(SYSTEM, ann.caller.token_id)
    elif how == "locked":
        service.set_active(SYSTEM, user, False)
    elif how == "role":
        service.revoke_role(SYSTEM, user, project, "member")
    else:
        service.set_password(SYSTEM, user, "a long password")
    last = b""
    for last in parts:
        if b"event: end" in last:
            break
    assert b"event: end" in last
    answer.close()


@pytest.mark.django_db
def test_a_visit_ends_when_keystone_revokes_or_its_time_is_over(cloud: Keystone) -> None:
    client = Client()
    assert enter(client).status_code == 302
    assert client.get("/app/catalog/").status_code == 200
    kept = dict(cloud.tokens)
    cloud.tokens.clear()
    assert client.get("/app/catalog/").status_code == 302
    cloud.tokens.update(kept)
    for token in cloud.tokens.values():
        token["expires_at"] = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert client.get("/app/catalog/").status_code == 302


@pytest.mark.django_db
def test_a_visit_is_in_the_project_that_keystone_says_and_leaves_no_tokens_of_ours(cloud: Keystone) -> None:
    client = Client()
    enter(client)
    for token in cloud.tokens.values():
        if "project" in token:
            token["project"] = {"id": "p9", "name": "moved"}
    assert client.get("/v2/me").json()["project"] == {"id": "p9", "name": "moved"}
    scoped = next(name for name, token in cloud.tokens.items() if "project" in token)
    header = {"x-auth-token": scoped}
    made = Client().post("/v2/tokens", json.dumps({"name": "x"}), "application/json", headers=header)
    assert made.status_code == 400 and not Token.objects.exists()
    assert Client().get("/v2/tokens", headers=header).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["unscoped", "system", "domain", "trust without roles"])
def test_tokens_of_keystone_for_no_project_are_nobodys(cloud: Keystone, kind: str) -> None:
    told: dict[str, Any] = {"user": {"id": "u1", "name": "mia"}, "roles": [{"name": "admin"}]}
    told["expires_at"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    told |= {
        "unscoped": {},
        "system": {"system": {"all": True}},
        "domain": {"domain": {"id": "default", "name": "Default"}},
        "trust without roles": {"project": {"id": "p1", "name": "shop"}, "roles": []},
    }[kind]
    cloud.tokens["given"] = told
    answer = Client().get("/v2/environments?all_projects=true", headers={"x-auth-token": "given"})
    assert answer.status_code == (403 if kind == "trust without roles" else 401)
