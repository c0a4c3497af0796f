"""Signing in and out of the pages, and what a stranger can do with the login page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from vetro.server.accounts.models import Membership, Project, User


@pytest.fixture
def carol(db: None) -> User:
    """Somebody with a password."""
    user = User(username="carol")
    user.set_password("a long enough phrase")
    user.save()
    Membership.objects.create(user=user, project=Project.objects.create(name="demo"), role="member")
    return user


def test_a_page_sends_strangers_to_the_login_and_back(carol: User) -> None:
    client = Client()
    answer = client.get("/app/?x=1")
    assert answer.status_code == 302
    assert answer["Location"] == "/app/login?next=%2Fapp%2F%3Fx%3D1"
    answer = client.post(answer["Location"], {"name": "carol", "password": "a long enough phrase"})
    assert (answer.status_code, answer["Location"]) == (302, "/app/?x=1")


def test_who_sends_something_too_late_comes_back_to_the_page_it_was_sent_from(carol: User) -> None:
    client, sent = Client(), "/app/environments/e1/deploy"
    for came_from, leads in (
        ("http://testserver/app/environments/e1/?tab=x", "%2Fapp%2Fenvironments%2Fe1%2F%3Ftab%3Dx"),
        ("http://testserver" + sent, sent.replace("/", "%2F")),
        ("http://evil.example/app/environments/e1/", "%2Fapp%2F"),
        ("", "%2Fapp%2F"),
    ):
        answer = client.post(sent, headers={"referer": came_from} if came_from else {})
        assert (answer.status_code, answer["Location"]) == (302, f"/app/login?next={leads}")


def test_a_wrong_password_is_told_and_keeps_the_name(carol: User) -> None:
    answer = Client().post("/app/login", {"name": "carol", "password": "wrong"})
    assert answer.status_code == 401
    assert b'value="carol"' in answer.content
    assert b"wrong." in answer.content


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/app/", "/app/../..//evil", "javascript:alert(1)", "/v1/x"]
)
def test_the_login_leads_to_pages_of_ours_only(carol: User, target: str) -> None:
    answer = Client().post("/app/login", {"name": "carol", "password": "a long enough phrase", "next": target})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/app/")
    assert "evil.example" not in answer["Location"]


def test_a_session_planted_before_the_login_is_worth_nothing(carol: User) -> None:
    client = Client()
    client.get("/app/login")
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    client.cookies["vetro_session"] = before
    client.post("/app/login", {"name": "carol", "password": "a long enough phrase"})
    assert client.cookies["vetro_session"].value != before
    assert "planted" not in client.session


def test_signing_out_forgets_the_session(ann: Any, browser: Callable[[Any], Client]) -> None:
    client = browser(ann)
    assert client.get("/app/").status_code == 200
    assert client.post("/app/logout")["Location"] == "/app/login"
    assert "/app/login" in client.get("/app/")["Location"]


def test_nobody_switches_to_a_project_of_others(ann: Any, eve: Any, browser: Callable[[Any], Client]) -> None:
    assert browser(ann).post("/app/project", {"project": eve.caller.project_id}).status_code == 403


def test_forms_of_other_sites_are_refused(carol: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/app/login", {"name": "carol", "password": "a long enough phrase"}).status_code == 403


def test_pages_bear_a_strict_policy(db: None) -> None:
    answer = Client().get("/app/login")
    assert "script" not in answer["Content-Security-Policy"]
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert answer["X-Frame-Options"] == "DENY"


def test_a_page_that_is_not_there_says_so(ann: Any, browser: Callable[[Any], Client]) -> None:
    answer = browser(ann).get("/app/nowhere/at/all")
    assert answer.status_code == 404
    assert b"There is no such page" in answer.content


@pytest.mark.attack("accounts", "L")
def test_a_csrf_token_that_was_planted_before_is_worth_nothing_after_signing_in(carol: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/app/login")
    planted = client.cookies["vetro_csrf"].value
    given = {"name": "carol", "password": "a long enough phrase", "csrfmiddlewaretoken": planted}
    assert client.post("/app/login", given).status_code == 302
    own = client.cookies["vetro_csrf"].value
    assert own != planted
    wanted = {"language": "de"}
    client.cookies["vetro_csrf"] = own
    header = {"x-csrftoken": planted}
    assert client.post("/app/people/me/settings", {**wanted, "csrfmiddlewaretoken": planted}).status_code == 403
    assert client.post("/v2/environments", {"name": "e"}, "application/json", headers=header).status_code == 403
    assert client.post("/app/people/me/settings", {**wanted, "csrfmiddlewaretoken": own}).status_code == 302


@pytest.mark.attack("accounts", "L")
def test_a_link_gives_a_new_csrf_token(carol: User) -> None:
    from vetro.server.accounts import service
    from vetro.server.caller import SYSTEM

    client = Client(enforce_csrf_checks=True)
    link = service.create_link(SYSTEM, carol, Project.objects.get(name="demo"))[1]
    client.get("/app/login")
    planted = client.cookies["vetro_csrf"].value
    assert client.post(f"/app/link/{link}", {"csrfmiddlewaretoken": planted}).status_code == 302
    assert client.cookies["vetro_csrf"].value != planted


def test_a_link_that_was_used_says_so_and_leads_to_the_password(carol: User) -> None:
    """It greeted again, and led to an empty form that led back to the link."""
    from vetro.server.accounts import service
    from vetro.server.caller import SYSTEM

    link = service.create_link(SYSTEM, carol, Project.objects.get(name="demo"))[1]
    assert "signs you in once" in Client().get(f"/app/link/{link}").content.decode()
    assert Client().post(f"/app/link/{link}").status_code == 302
    for answer in (Client().get(f"/app/link/{link}"), Client().post(f"/app/link/{link}"), Client().get("/app/link/x")):
        page = answer.content.decode()
        assert answer.status_code == 401 and "does not work any more" in page and "vetro admin link create" in page
        assert 'href="/app/login"' in page and "Welcome to Vetro" not in page
