"""People sign in with tokens of a real Keystone."""

from __future__ import annotations

import urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urlencode

import pytest

from tests.acceptance.openstack.place import Catalog, OpenStack, send, soon

pytestmark = pytest.mark.timeout(200)


def test_tokens_of_keystone_are_people(catalog: Catalog, openstack: OpenStack) -> None:
    assert catalog.send("", "GET", "/v1/environments").status == 401
    assert catalog.send("gAAAAA" + "f" * 180, "GET", "/v1/environments").status == 401
    mine = catalog.environment("of demo")
    (record,) = [row for row in catalog.ok("GET", "/v1/environments")["environments"] if row["id"] == mine]
    assert record["tenant_id"] == openstack.project("demo")

    assert catalog.send("other", "GET", "/v1/environments").json()["environments"] == []
    assert catalog.send("other", "GET", f"/v1/environments/{mine}").status == 403
    everything = catalog.send("admin", "GET", "/v1/environments?all_tenants=true").json()["environments"]
    assert mine in [row["id"] for row in everything]
    assert catalog.send("demo", "POST", "/v1/catalog/categories", {"name": "Towers"}).status == 403
    assert catalog.send("admin", "POST", "/v1/catalog/categories", {"name": "Towers"}).status == 200
    catalog.delete(mine)


def test_a_revoked_token_is_none(catalog: Catalog, openstack: OpenStack) -> None:
    token, _ = openstack.sign_in("demo", "demo")
    assert catalog.send(token, "GET", "/v1/environments").status == 200
    gone = send("DELETE", f"{openstack.keystone}/auth/tokens", token, **{"X-Subject-Token": token})
    assert gone.status == 204
    soon(lambda: catalog.send(token, "GET", "/v1/environments").status == 401, 10)


def test_names_and_passwords_of_keystone_sign_in(catalog: Catalog, openstack: OpenStack) -> None:
    given = {"name": "demo", "password": openstack.password, "project": "demo"}
    answer = catalog.send("", "POST", "/v2/auth/login", given)
    assert answer.status == 200, answer.body
    made = answer.json()
    assert made["project"] == {"id": openstack.project("demo"), "name": "demo"}
    assert catalog.send(made["token"], "GET", "/v2/me").json()["user"]["name"] == "demo"
    assert catalog.send("", "POST", "/v2/auth/login", {**given, "password": "wrong"}).status == 401
    assert catalog.send("", "POST", "/v2/auth/login", {**given, "project": "other"}).status == 403

    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(cookies := CookieJar())
    )
    page = f"{catalog.url}/app/login"

    def token() -> str:
        return next(str(cookie.value) for cookie in cookies if cookie.name == "vetro_csrf")

    browser.open(page, timeout=60).close()
    form = {"name": "demo", "password": openstack.password, "csrfmiddlewaretoken": token()}
    with browser.open(page, urlencode(form).encode(), timeout=60) as shown:
        text = shown.read().decode()
    assert "/app/login" not in shown.url and "Sign out" in text
