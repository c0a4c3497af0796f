"""People sign in with tokens of a real Keystone."""

from __future__ import annotations

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
