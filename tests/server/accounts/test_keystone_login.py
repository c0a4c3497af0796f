"""People whom only a Keystone knows sign in with name and password: to the pages, and for a token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from tests.server.accounts.listening_keystone import Answering, listening
from vetro.server import setup
from vetro.server.accounts.models import LoginFailure, User
from vetro.server.audit.models import AuditRecord

pytestmark = pytest.mark.django_db
OPTIONS = {"username": "vetro", "password": "service-secret", "project_name": "service", "cache_seconds": 0}
WRONG = "The name or the password is wrong."


class Keystone(ThreadingHTTPServer):
    """``people``: (domain, name) -> password; each belongs to ``projects``, id -> name. ``tokens``: what was given."""

    daemon_threads = True

    def __init__(self) -> None:
        self.people = {
            ("default", "vetro"): "service-secret",
            ("default", "mia"): "mia-secret",
            ("far", "mia"): "other",
        }
        self.projects = {"p2": "web", "p1": "shop"}
        self.tokens: dict[str, dict[str, Any]] = {}
        self.status = 0
        super().__init__(("127.0.0.1", 0), Handler)

    def given(self, auth: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
        identity, scope = auth["identity"], auth.get("scope", "unscoped")
        if "token" in identity["methods"]:
            known = self.tokens.get(identity["token"]["id"])
            if known is None:
                return 401, {}, ""
            user = known["user"]
        else:
            sent = identity["password"]["user"]
            domain = sent["domain"].get("id") or sent["domain"]["name"]
            if self.people.get((domain, sent["name"])) != sent["password"]:
                return 401, {"error": {"message": "no", "code": 401}}, ""
            user = {"id": f"u-{domain}-{sent['name']}", "name": sent["name"]}
        told: dict[str, Any] = {"user": user, "roles": [{"name": "member"}]}
        if scope != "unscoped":
            id = scope["project"].get("id") or "service"
            told["project"] = {"id": id, "name": self.projects.get(id, id)}
        told["expires_at"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        name = f"keystone-token-{len(self.tokens)}"
        self.tokens[name] = told
        return 201, {"token": told}, name


class Handler(Answering):
    server: Keystone

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status:
            return self.send(self.server.status, {})
        status, data, token = self.server.given(body["auth"])
        self.send(status, data, {"X-Subject-Token": token})

    def do_GET(self) -> None:
        if self.server.status:
            return self.send(self.server.status, {})
        if self.path.startswith("/v3/auth/projects"):
            assert self.headers["X-Auth-Token"] in self.server.tokens
            rows = [{"id": id, "name": name, "enabled": True} for id, name in self.server.projects.items()]
            off = {"id": "p0", "name": "a closed one", "enabled": False}
            return self.send(200, {"projects": [off, *rows]})
        if not self.path.startswith("/v3/auth/tokens"):
            return self.send(200, {"version": {"id": "v3.14", "status": "stable", "links": []}})
        found = self.server.tokens.get(self.headers["X-Subject-Token"])
        self.send(200, {"token": found}) if found is not None else self.send(404, {})


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    with listening(Keystone(), OPTIONS, monkeypatch) as server:
        yield server


def enter(client: Client, name: str = "mia", password: str = "mia-secret") -> Any:
    return client.post("/app/login", {"name": name, "password": password})


def test_the_pages_know_who_keystone_knows(cloud: Keystone) -> None:
    client = Client()
    assert enter(client).status_code == 302
    page = client.get("/app/catalog/").content.decode()
    assert "mia" in page and "shop" in page and "web" in page and "a closed one" not in page
    client.post("/app/project", {"project": "p2"})
    made = client.post(
        "/v2/environments", {"name": "of web"}, content_type="application/json",
        headers={"X-CSRFToken": client.cookies["vetro_csrf"].value},
    )  # fmt: skip
    assert made.status_code == 201 and made.json()["project_id"] == "p2"
    assert client.post("/app/project", {"project": "p9"}).status_code == 403
    assert "keystone-token" not in str([row.get_decoded() for row in Session.objects.all()])
    noted = AuditRecord.objects.get(action="login.keystone")
    assert (noted.user_id, noted.project_id) == ("u-default-mia", "p1")
    cloud.tokens.clear()  # she is locked there, or the tokens have expired
    assert "/app/login" in client.get("/app/catalog/")["Location"]


def test_what_there_is_of_a_person_without_account(cloud: Keystone) -> None:
    client, me = Client(), "/app/people/me"
    enter(client)
    assert f'href="{me}"' in client.get("/app/catalog/").content.decode()
    page = client.get(me).content.decode()
    assert "<h1>mia</h1>" in page and "kept by Keystone" in page
    assert '<li>shop <span class="word">member</span> </li><li>web </li>' in page
    # Her choices last as long as she is signed in, also into another project.
    assert client.post(f"{me}/settings", {"language": "de", "zone": "Asia/Tokyo"}).status_code == 302
    assert client.post("/app/project", {"project": "p2"}).status_code == 302
    page = client.get(me).content.decode()
    assert "Ihr Passwort liegt bei Keystone" in page and 'data-zone="Asia/Tokyo"' in page
    assert '<li>shop </li><li>web <span class="word">member</span> </li>' in page
    for path, sent in (("/password", {"password": "a long enough phrase"}), ("/tokens", {"name": "x", "days": "7"})):
        answer = client.post(me + path, sent)
        assert answer.status_code == 404 and "von Keystone" in answer.content.decode()
    client.post("/app/logout")
    enter(client)
    assert "kept by Keystone" in client.get(me).content.decode()


def test_without_keystone_people_get_out_and_others_in(cloud: Keystone, ann: Any) -> None:
    client = Client()
    enter(client)
    cloud.status = 503
    answer = client.get("/app/catalog/")
    text = answer.content.decode()
    assert answer.status_code == 503 and answer["Retry-After"]
    assert "cannot ask it at the moment" in text and 'href="/app/login"' in text
    part = client.get("/app/catalog/", headers={"HX-Request": "true"})
    assert part.status_code == 503 and part["HX-Retarget"] == "#notices"
    assert client.get("/app/login").status_code == 200
    cloud.status = 0
    assert client.get("/app/catalog/").status_code == 200  # she has stayed signed in
    cloud.status = 503
    answer = client.post("/app/logout")
    assert (answer.status_code, answer["Location"]) == (302, "/app/login")
    assert client.get("/app/catalog/").status_code == 302
    # Whose account is here needs no Keystone, not even where somebody else's session has not ended.
    user = User.objects.get(id=ann.caller.user_id)
    user.set_password("a long enough phrase")
    user.save()
    cloud.status = 0
    enter(client)
    cloud.status = 503
    assert enter(client, user.username, "a long enough phrase").status_code == 302
    assert client.get("/app/catalog/").status_code == 200


def test_other_domains_and_wrong_passwords(cloud: Keystone, ann: Any) -> None:
    assert enter(Client(), "far\\mia", "other").status_code == 302
    for name, password in (("mia", "other"), ("nobody", "mia-secret"), (ann.caller.user_name, "mia-secret")):
        answer = enter(Client(), name, password)
        assert answer.status_code == 401 and WRONG in answer.content.decode()
    assert LoginFailure.objects.count() == 3
    cloud.people["default", ann.caller.user_name] = "hers there"  # an account here comes first
    assert enter(Client(), ann.caller.user_name, "hers there").status_code == 401
    cloud.status = 500
    assert enter(Client()).status_code == 503


def test_too_many_attempts_do_not_reach_keystone(cloud: Keystone) -> None:
    for _ in range(setup.config()["accounts.login_attempts"]):
        enter(Client(), "mia", "guessed")
    assert enter(Client()).status_code == 429
    assert not cloud.tokens


def test_a_token_for_name_and_password(cloud: Keystone) -> None:
    def login(**more: Any) -> Any:
        body = {"name": "mia", "password": "mia-secret", **more}
        return Client().post("/v2/auth/login", body, content_type="application/json")

    made = login(project="web")
    assert made.status_code == 200 and made.json()["project"] == {"id": "p2", "name": "web"}
    me = Client().get("/v2/me", headers={"x-auth-token": made.json()["token"]}).json()
    assert (me["user"]["name"], me["project"]["name"], me["token_id"]) == ("mia", "web", None)
    assert login().json()["project"]["name"] == "shop"
    refused = login(project="elsewhere")
    assert refused.status_code == 403 and refused.json()["error"]["details"] == {"projects": ["shop", "web"]}
    cloud.projects.clear()
    assert login().status_code == 403


def test_without_a_keystone_all_is_as_before(ann: Any) -> None:
    answer = enter(Client())
    assert answer.status_code == 401 and WRONG in answer.content.decode()
