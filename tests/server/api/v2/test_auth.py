"""Signing in over /v2, who one is, tokens; web sessions with CSRF."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import User
from vetro.server.caller import SYSTEM

PASSWORD = "a long password"


@pytest.fixture
def with_password(ann: Any) -> Any:
    """Ann, who can sign in."""
    accounts.set_password(SYSTEM, User.objects.get(username="ann"), PASSWORD)
    return ann


def login(**given: Any) -> Any:
    return Client().post("/v2/auth/login", given, content_type="application/json")


def test_a_password_gives_a_token(with_password: Any) -> None:
    answer = login(name="ann", password=PASSWORD, project="demo")
    assert answer.status_code == 200
    assert answer.json()["project"]["name"] == "demo"
    for header in ({"x-auth-token": answer.json()["token"]}, {"authorization": f"Bearer {answer.json()['token']}"}):
        assert Client(headers=header).get("/v2/me").json()["user"]["name"] == "ann"
    out = Client(headers=header).post("/v2/auth/logout")
    assert out.status_code == 204
    assert Client(headers=header).get("/v2/me").status_code == 401


def test_wrong_names_and_passwords_are_answered_alike(with_password: Any) -> None:
    one, other = login(name="ann", password="wrong password"), login(name="nobody", password="wrong password")
    assert (one.status_code, one.json()) == (401, other.json())
    assert login(name="ann", password=PASSWORD, project="others").status_code == 403
    assert login(name="ann").status_code == 400
    assert b"wrong password" not in one.content


def test_too_many_wrong_passwords_say_when_to_come_again(with_password: Any) -> None:
    for _ in range(20):
        answer = login(name="ann", password="wrong password")
        if answer.status_code == 429:
            break
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) == answer.json()["error"]["details"]["retry_after"] > 0


def test_me_tells_what_one_may_do(ann: Any, root: Any, people: Any) -> None:
    mine = ann.get("/v2/me").json()
    assert (mine["project"]["name"], mine["roles"], mine["is_admin"]) == ("demo", ["member"], False)
    assert "create_environment" in mine["allowed"] and "manage_accounts" not in mine["allowed"]
    assert "manage_accounts" in root.get("/v2/me").json()["allowed"]
    assert "create_environment" not in people("reed", "demo", "reader").get("/v2/me").json()["allowed"]


def test_tokens_are_made_listed_and_revoked(ann: Any, bob: Any) -> None:
    made = ann.post("/v2/tokens", {"name": "laptop", "days": 3})
    assert made.status_code == 201
    token = made.json()
    assert Client(headers={"x-auth-token": token["token"]}).get("/v2/me").status_code == 200
    listed = ann.get("/v2/tokens")
    assert {item["name"] for item in listed.json()["items"]} == {"", "laptop"}
    assert token["token"].encode() not in listed.content
    assert bob.delete(f"/v2/tokens/{token['id']}").status_code == 404
    assert bob.get("/v2/tokens?user=ann").status_code == 404
    assert ann.delete(f"/v2/tokens/{token['id']}").status_code == 204
    assert Client(headers={"x-auth-token": token["token"]}).get("/v2/me").status_code == 401


@pytest.mark.parametrize("headers", [{}, {"x-auth-token": "nonsense"}, {"authorization": "Basic x"}])
def test_without_a_token_nothing_is_told(db: None, headers: dict[str, str]) -> None:
    answer = Client(headers=headers).get("/v2/environments")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "SRV402")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def browser(person: Any) -> Client:
    from vetro.server.accounts.models import User
    from vetro.server.accounts.sessions import SessionStore
    from vetro.server.accounts.web_sessions import session_of

    session = SessionStore()
    session.update(session_of(User.objects.get(id=person.caller.user_id), person.caller.project_id))
    session.create()
    client = Client(enforce_csrf_checks=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    return client


def test_a_web_session_reads_and_with_its_csrf_token_writes(ann: Any) -> None:
    client = browser(ann)
    assert client.get("/v2/me").json()["user"]["name"] == "ann"
    refused = client.post("/v2/environments", {"name": "x"}, content_type="application/json")
    assert (refused.status_code, "CSRF" in refused.json()["error"]["message"]) == (403, True)
    client.get("/app/login")
    token = "a" * 32
    client.cookies[settings.CSRF_COOKIE_NAME] = token
    made = client.post("/v2/environments", {"name": "x"}, "application/json", headers={"x-csrftoken": token})
    assert made.status_code == 201, made.content


def test_a_forgotten_web_session_is_none(db: None) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "0" * 32
    assert client.get("/v2/me").status_code == 401
