"""What holds for every page, whoever wrote it: found by walking all addresses below /app/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver

from tests.server.tasks import shop

Browser = Callable[[Any], Client]
#: Pages for those who are not signed in.
PUBLIC = {"/app/login", "/app/link/x", "/app/logout"}
#: Files for everybody, with nothing of a project in them, and the page for what is not there.
_OPEN = ("/app/media/", "/app/nowhere")
#: Addresses that somebody would like the login to lead to.
ELSEWHERE = (
    "https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
    "/appendix//evil.example", "https:evil.example",
    "javascript:alert(1)", "/app/\r\nSet-Cookie: a=b", " //evil.example", "/v2/me", "",
)  # fmt: skip


def addresses() -> list[str]:
    """Every address below /app/, with ``x`` (``1`` for numbers) in place of what varies."""
    return sorted({path for path in _walk(get_resolver(), "/") if path.startswith("/app/")} - {"/app/.*"})


def _walk(resolver: URLResolver, before: str) -> Iterator[str]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _walk(one, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            path = before + str(one.pattern).removeprefix("^").removesuffix("$")
            parts = [
                "1" if part.startswith("<int:") else "x" if part.startswith("<") else part for part in path.split("/")
            ]
            yield "/".join(parts)


PAGES = [path for path in addresses() if not path.startswith(_OPEN)]


def test_the_walk_finds_the_pages() -> None:
    assert len(PAGES) > 80
    assert {"/app/catalog/x/add", "/app/environments/x/restore/1", "/app/people/users/x/password"} <= set(PAGES)


@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_are_sent_to_the_login(db: None, method: str) -> None:
    client = Client()
    for path in PAGES:
        answer = getattr(client, method)(path)
        if path in PUBLIC:
            assert answer.status_code != 500, path
        elif answer.status_code != 405:
            assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/app/login"), path


def test_forms_of_other_sites_are_refused_everywhere(ann: Any, browser: Browser) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = browser(ann).cookies
    refused = [path for path in PAGES if client.post(path, {"name": "x"}).status_code != 403]
    assert refused == []


def test_every_answer_bears_the_headers_that_keep_it_ours(root: Any, browser: Browser) -> None:
    client = browser(root)
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code != 500, path
        policy = answer["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy or "sandbox" in policy, path
        assert "unsafe" not in policy
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


def test_pages_are_kept_by_nobody_on_the_way(ann: Any, browser: Browser) -> None:
    for path in ("/app/catalog/", "/app/people/me", "/app/environments/", "/app/nowhere"):
        assert "private" in browser(ann).get(path)["Cache-Control"]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_nothing_leads_elsewhere(ann: Any, browser: Browser, target: str) -> None:
    client = browser(ann)
    answers = [
        client.post("/app/project", {"project": ann.caller.project_id, "next": target}),
        client.get("/app/login", {"next": target}),
    ]
    for answer in answers:
        assert answer.status_code == 302
        place = answer["Location"]
        assert place.startswith("/app/")
        assert "\\" not in place
        assert "\r" not in place


def test_a_link_for_signing_in_leaves_nothing_of_a_session_before(ann: Any, people: Any, browser: Browser) -> None:
    from vetro.server.accounts import service as accounts
    from vetro.server.accounts.models import Project, User
    from vetro.server.caller import SYSTEM

    user, project = User.objects.get(username="ann"), Project.objects.get(id=ann.caller.project_id)
    secret = accounts.create_link(SYSTEM, user, project)[1]
    client = browser(people("mallory", "elsewhere"))
    before = client.session.session_key
    client.post(f"/app/link/{secret}")
    assert client.cookies["vetro_session"].value != before
    assert client.session["vetro_user"] == user.id
    assert not client.session.__class__().exists(before)


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(db: None, ann: Any, browser: Browser) -> None:
    client = browser(ann)
    client.post("/app/people/me/settings", {"language": "en"})
    cookie = client.cookies["vetro_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert Client().get("/app/login").cookies["vetro_csrf"]["samesite"] == "Lax"


def test_what_others_own_is_not_there(ann: Any, eve: Any, root: Any, browser: Browser) -> None:
    package = shop.add_package(ann.caller)
    environment = shop.add_environment(ann.caller, "Hidden-from-Eve")
    client, mine = browser(eve), browser(ann)
    assert b"Hidden-from-Eve" in mine.get(f"/app/environments/{environment.id}/").content
    for path in PAGES:
        for kind, own in (("environments", environment.id), ("packages", package.id)):
            if not path.startswith(f"/app/{kind}/x/"):
                continue
            found = path.replace(f"/app/{kind}/x/", f"/app/{kind}/{own}/", 1)
            for answer in (client.get(found), client.post(found, {"name": "taken"})):
                assert answer.status_code in (403, 404, 405), (found, answer.status_code)
                assert b"Hidden-from-Eve" not in answer.content
    environment.refresh_from_db()
    assert environment.name == "Hidden-from-Eve"
