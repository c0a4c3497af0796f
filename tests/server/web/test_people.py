"""Pages about people: one's own profile and tokens, accounts and projects for administrators, the audit list."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from vetro.server.accounts import service as accounts
from vetro.server.accounts.models import Membership, Project, Token, User
from vetro.server.audit.models import AuditRecord
from vetro.server.caller import SYSTEM

Browser = Callable[[Any], Client]
PHRASE = "a long enough phrase"
ADMIN_PAGES = ("/app/people/", "/app/people/new", "/app/people/projects/")


def text_of(answer: Any) -> str:
    """What a person reads."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())))


def with_password(person: Any) -> None:
    user = User.objects.get(id=person.caller.user_id)
    user.set_password(PHRASE)
    user.save()


def test_a_token_is_shown_once_works_and_ends_when_it_is_revoked(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    answer = client.post("/app/people/me/tokens", {"name": "laptop", "days": "30"})
    text = re.search(r'id="made">(vetro_[\w-]+)<', answer.content.decode())
    assert text is not None
    assert answer["Cache-Control"] == "no-store"
    assert text[1] not in client.get("/app/people/me").content.decode()
    assert Client().get("/v2/me", headers={"x-auth-token": text[1]}).status_code == 200
    kept = Token.objects.get(name="laptop")
    assert 29 <= (kept.expires - kept.created).days <= 30
    client.post(f"/app/people/me/tokens/{kept.id}/revoke")
    assert Client().get("/v2/me", headers={"x-auth-token": text[1]}).status_code == 401
    assert "laptop" not in text_of(client.get("/app/people/me"))


def test_a_token_that_cannot_be_made_loses_nothing_that_was_typed(ann: Any, browser: Browser) -> None:
    answer = browser(ann).post("/app/people/me/tokens", {"name": "bad\x07name", "days": "30"})
    assert answer.status_code == 400
    assert "cannot be printed" in text_of(answer)
    assert 'value="bad' in answer.content.decode()
    assert browser(ann).post("/app/people/me/tokens", {"name": "x", "days": "9999999"}).status_code == 400


def test_nobody_revokes_tokens_of_others(ann: Any, bob: Any, browser: Browser) -> None:
    theirs = Token.objects.get(user_id=bob.caller.user_id)
    answer = browser(ann).post(f"/app/people/me/tokens/{theirs.id}/revoke", follow=True)
    assert "no such token" in text_of(answer)
    theirs.refresh_from_db()
    assert theirs.revoked is None


def test_a_password_is_changed_by_who_knows_it_and_ends_other_sessions(ann: Any, browser: Browser) -> None:
    with_password(ann)
    here, elsewhere = browser(ann), browser(ann)
    wanted = {"password": "another long phrase", "again": "another long phrase"}
    answer = here.post("/app/people/me/password", {"current": "wrong", **wanted})
    assert (answer.status_code, "present password is wrong" in text_of(answer)) == (403, True)
    answer = here.post("/app/people/me/password", {"current": PHRASE, **wanted, "again": "something else"})
    assert (answer.status_code, "differ" in text_of(answer)) == (400, True)
    assert here.post("/app/people/me/password", {"current": PHRASE, "password": "x", "again": "x"}).status_code == 400
    before = here.cookies["vetro_session"].value
    answer = here.post("/app/people/me/password", {"current": PHRASE, **wanted}, follow=True)
    assert "Your password is changed" in text_of(answer)
    assert here.cookies["vetro_session"].value != before
    assert here.get("/app/people/me").status_code == 200
    assert elsewhere.get("/app/people/me")["Location"].startswith("/app/login")
    assert accounts.sign_in("ann", "another long phrase").username == "ann"


def test_who_came_by_a_link_chooses_a_first_password(ann: Any, browser: Browser) -> None:
    user = User.objects.get(id=ann.caller.user_id)
    user.set_unusable_password()
    user.save()
    client = browser(ann)
    assert "Present password" not in text_of(client.get("/app/people/me"))
    client.post("/app/people/me/password", {"password": PHRASE, "again": PHRASE})
    assert accounts.sign_in("ann", PHRASE) == user


def test_language_and_zone_of_a_person_hold_everywhere(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    Token.objects.update(created="2026-01-15T12:00:00Z")
    assert "2026-01-15 12:00 UTC" in text_of(client.get("/app/people/me"))
    client.post("/app/people/me/settings", {"language": "de", "zone": "Asia/Tokyo"})
    page = client.get("/app/people/me", headers={"accept-language": "en"}).content.decode()
    assert '<html lang="de"' in page
    assert 'data-zone="Asia/Tokyo"' in page
    assert "2026-01-15 21:00 JST" in page
    # The next request that this thread serves is somebody else's.
    assert '<html lang="en"' in Client().get("/app/login").content.decode()
    fresh = Client()
    with_password(ann)
    fresh.post("/app/login", {"name": "ann", "password": PHRASE})
    assert '<html lang="de"' in fresh.get("/app/people/me").content.decode()


@pytest.mark.parametrize("given", [{"language": "tlh"}, {"zone": "Mars/Olympus"}, {"zone": "../../etc/passwd"}])
def test_settings_that_there_are_not_are_refused(ann: Any, browser: Browser, given: dict[str, str]) -> None:
    assert browser(ann).post("/app/people/me/settings", given).status_code == 400
    assert User.objects.get(id=ann.caller.user_id).timezone == ""


def test_pages_of_administrators_are_for_them_only(ann: Any, bob: Any, root: Any, browser: Browser) -> None:
    one = f"/app/people/users/{bob.caller.user_id}/"
    project = f"/app/people/projects/{bob.caller.project_id}/"
    for path in (*ADMIN_PAGES, one, one + "delete", project):
        assert browser(ann).get(path).status_code == 403, path
        assert browser(root).get(path).status_code == 200, path
    for path in ("password", "lock", "unlock", "grant", "revoke", "link", "delete", "tokens/x/revoke"):
        assert browser(ann).post(one + path, {"project": "demo", "role": "admin"}).status_code == 403, path
    for path in ("switch", "add"):
        assert browser(ann).post(project + path).status_code == 403
    assert browser(ann).post("/app/people/projects/", {"name": "mine"}).status_code == 403
    assert browser(ann).post("/app/people/new", {"name": "mallory"}).status_code == 403
    for path in ("/app/people/users/nobody/", "/app/people/projects/none/"):
        assert browser(root).get(path).status_code == 404


def test_an_account_is_made_with_a_role_and_its_owner_comes_by_a_link(root: Any, browser: Browser) -> None:
    client = browser(root)
    Project.objects.create(name="lab")
    answer = client.post("/app/people/new", {"name": "dora", "email": "dora", "project": "lab", "role": "member"})
    assert (answer.status_code, 'value="dora"' in answer.content.decode()) == (400, True)
    assert not User.objects.filter(username="dora").exists()
    answer = client.post(
        "/app/people/new", {"name": "dora", "email": "d@example.org", "project": "lab", "role": "member"}, follow=True
    )
    dora = User.objects.get(username="dora")
    assert accounts.roles_of(dora) == {"lab": ["member"]}
    made = client.post(f"/app/people/users/{dora.id}/link", {"project": "lab"})
    address = re.search(r'id="made">https?://[^/]+(/app/link/[\w-]+)<', made.content.decode())
    assert address is not None
    assert address[1] not in client.get(f"/app/people/users/{dora.id}/").content.decode()
    visitor = Client()
    assert visitor.get(address[1]).status_code == 200
    assert visitor.post(address[1])["Location"] == "/app/"
    mine = text_of(visitor.get("/app/people/me"))
    assert "dora" in mine and "give yourself a password" in mine
    assert Client().post(address[1]).status_code in (302, 401)
    assert client.post("/app/people/new", {"name": "dora", "role": "member"}).status_code == 409


def test_roles_come_and_go(root: Any, ann: Any, browser: Browser) -> None:
    client, user = browser(root), User.objects.get(username="ann")
    Project.objects.create(name="lab")
    page = f"/app/people/users/{user.id}/"
    client.post(page + "grant", {"project": "lab", "role": "reader"})
    assert accounts.roles_of(user) == {"demo": ["member"], "lab": ["reader"]}
    client.post(page + "revoke", {"project": "lab", "role": "reader"})
    assert accounts.roles_of(user) == {"demo": ["member"]}
    assert "does not have role" in text_of(client.post(page + "revoke", {"project": "lab", "role": "x"}, follow=True))
    assert "no project 'nolab'" in text_of(client.post(page + "grant", {"project": "nolab", "role": "x"}, follow=True))


def test_a_lock_works_at_once_and_nobody_locks_herself_out(root: Any, ann: Any, browser: Browser) -> None:
    client, hers = browser(root), browser(ann)
    page = f"/app/people/users/{ann.caller.user_id}/"
    client.post(page + "lock")
    assert hers.get("/app/people/me").status_code == 302
    client.post(page + "unlock")
    assert hers.get("/app/people/me").status_code == 200
    client.post(page + "password", {"password": "given by somebody"})
    assert hers.get("/app/people/me").status_code == 302
    mine = f"/app/people/users/{root.caller.user_id}/"
    for path in ("lock", "delete", "password"):
        client.post(mine + path, {"password": "given by somebody"})
    client.post(mine + "revoke", {"project": "operators", "role": "admin"})
    assert client.get("/app/people/").status_code == 200


def test_deleting_an_account_is_asked_about(root: Any, ann: Any, browser: Browser) -> None:
    client, page = browser(root), f"/app/people/users/{ann.caller.user_id}/delete"
    assert "1 token stops working" in text_of(client.get(page))
    assert User.objects.filter(username="ann").exists()
    assert client.post(page)["Location"] == "/app/people/"
    assert not User.objects.filter(username="ann").exists()


def test_a_token_of_another_person_is_not_revoked_by_mistake(root: Any, ann: Any, bob: Any, browser: Browser) -> None:
    token = Token.objects.get(user_id=bob.caller.user_id)
    client = browser(root)
    assert client.post(f"/app/people/users/{ann.caller.user_id}/tokens/{token.id}/revoke").status_code == 404
    assert client.post(f"/app/people/users/{bob.caller.user_id}/tokens/{token.id}/revoke").status_code == 302
    assert bob.get("/v2/me").status_code == 401


def test_projects_are_made_filled_closed_and_opened(root: Any, ann: Any, browser: Browser) -> None:
    client = browser(root)
    assert client.post("/app/people/projects/", {"name": " "}).status_code == 400
    page = client.post("/app/people/projects/", {"name": "lab", "description": "For trials"})["Location"]
    client.post(page + "add", {"user": ann.caller.user_id, "role": "member"})
    lab = Project.objects.get(name="lab")
    assert Membership.objects.filter(user_id=ann.caller.user_id, project=lab).exists()
    assert "For trials" in text_of(client.get("/app/people/projects/"))
    client.post(page + "switch", {"to": "closed"})
    assert "Closed" in text_of(client.get(page))
    client.post(page + "switch", {"to": "open"})
    lab.refresh_from_db()
    assert lab.enabled
    client.post(f"/app/people/projects/{root.caller.project_id}/switch", {"to": "closed"})
    assert client.get("/app/people/").status_code == 200
    assert client.post(page + "add", {"user": "nobody"}).status_code == 404


def test_people_are_searched_and_paged(root: Any, browser: Browser) -> None:
    for number in range(60):
        accounts.create_user(SYSTEM, f"person-{number:02}")
    first = text_of(browser(root).get("/app/people/"))
    assert "Page 1 of 2" in first
    assert "person-59" not in first
    assert "person-59" in text_of(browser(root).get("/app/people/?page=2"))
    found = text_of(browser(root).get("/app/people/?q=PERSON-5"))
    assert "person-59" in found
    assert "person-40" not in found
    assert "Nobody is called that" in text_of(browser(root).get("/app/people/?q=zzz"))


def record(person: Any, action: str, target: str, **details: Any) -> None:
    from vetro.server.audit.record import record as write

    write(person.caller, action, f"id-{target}", target, reason="because", **details)


def test_the_audit_list_is_filtered_paged_and_of_ones_own_project(
    ann: Any, eve: Any, root: Any, people: Any, browser: Browser
) -> None:
    record(ann, "environment.create", "shop")
    record(ann, "package.import", "beer", public=False, environment="")
    record(eve, "package.import", "wine")
    AuditRecord.objects.filter(target_name="shop").update(at="2026-01-15T23:30:00Z")
    page = "/app/people/audit"
    everything = text_of(browser(ann).get(page))
    assert "shop" in everything
    assert "because" in everything
    assert "wine" not in everything
    assert "wine" not in text_of(browser(ann).get(page + "?all=1"))
    assert "wine" in text_of(browser(root).get(page + "?all=1"))
    about = text_of(browser(ann).get(page + "?what=package"))
    assert ("beer" in about, "shop" in about) == (True, False)
    assert re.search(r"public\s*no\b", about) and "environment" not in about.partition("beer")[2].partition("127.")[0]
    record(ann, "image.mark", "debian")
    about = text_of(browser(ann).get(page + "?what=image"))
    assert ("debian" in about, "shop" in about, "Images" in about) == (True, False, True)
    assert "Nothing fits" in text_of(browser(ann).get(page + "?who=bob"))
    assert "shop" in text_of(browser(ann).get(page + "?since=2026-01-15&until=2026-01-15"))
    assert "Nothing fits" in text_of(browser(ann).get(page + "?until=2026-01-14"))
    assert browser(ann).get(page + "?since=yesterday&before=x&until=9999-12-31").status_code == 200
    for number in range(60):
        record(ann, "task.cancel", f"target-{number:02}")
    first = browser(ann).get(page + "?what=task").content.decode()
    older = html.unescape(re.findall(r'href="(\?[^"]*before=\d+)"', first)[0])
    second = text_of(browser(ann).get(page + older))
    assert "target-09" in second
    assert "target-10" not in second
    assert browser(people("rita", role="reader")).get(page).status_code == 403


def test_a_nul_character_is_refused_politely(ann: Any, browser: Browser) -> None:
    for answer in (
        browser(ann).get("/app/people/audit?who=%00"),
        browser(ann).post("/app/people/me/tokens", {"name": "a\0b", "days": "30"}),
        browser(ann).get("/app/environments/%00/"),
    ):
        assert answer.status_code == 400
