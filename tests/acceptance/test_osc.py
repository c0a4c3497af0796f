"""The plug-in of python-muranoclient for the `openstack` command, unmodified, without a Keystone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.clients import Command, archive, settled
from tests.acceptance.golden.people import Site

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def openstack(site: Site, tmp_path: Path) -> Command:
    where = ("--os-auth-type", "admin_token", "--os-endpoint", site.url, "--os-token", site.tokens["demo2"])
    return Command(site, tmp_path, "openstack", *where)


@pytest.mark.campaign
def test_openstack_imports_deploys_and_deletes(site: Site, openstack: Command, tmp_path: Path) -> None:
    fqn = "com.stack.Demo"
    (package,) = openstack.json("package", "import", str(archive(tmp_path, "com.stack")), "-f", "json")
    assert package["Fully_qualified_name"] == fqn
    (environment,) = [one["Id"] for one in openstack.json("environment", "create", "stack", "-f", "json")]
    session = openstack.json("environment", "session", "create", environment, "-f", "json")["id"]
    body = json.dumps({"?": {"type": fqn, "id": "c3" * 16}, "name": "app"}).encode()
    headers = {"content-type": "application/json", "x-configuration-session": session}
    assert site.send("demo2", "POST", f"/v1/environments/{environment}/services", headers, body).status == 200
    openstack("environment", "deploy", environment, "--session-id", session)
    assert settled(site, environment) == "ready"
    (deployment,) = openstack.json("deployment", "list", environment, "-f", "json")
    assert deployment["State"] == "success"
    assert openstack.json("class-schema", fqn)[""]["properties"]["name"] == {"type": "string"}
    openstack("environment", "delete", environment)
    assert settled(site, environment) == ""
