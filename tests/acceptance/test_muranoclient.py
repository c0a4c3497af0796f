"""The published python-muranoclient, unmodified, as library and as command `murano`: the life of an environment."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.clients import Command, archive, settled, written
from tests.acceptance.golden.people import Site

# The requests that it sends are among those of test_golden.py, of which each run replays a part.
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def app(fqn: str, name: str = "one") -> dict[str, Any]:
    return {"?": {"type": fqn, "id": "a1" * 16}, "name": name}


@pytest.fixture
def murano(site: Site, tmp_path: Path) -> Command:
    where = ("--murano-url", site.url, "--os-no-client-auth", "--os-auth-token", site.tokens["demo"])
    return Command(site, tmp_path, "murano", *where)


def test_the_library_keeps_a_catalog(site: Site, tmp_path: Path) -> None:
    from muranoclient.common import exceptions
    from muranoclient.v1.client import Client

    client, admin = (Client(site.url, token=site.tokens[name]) for name in ("demo", "admin"))
    fqn = "com.books.Demo"
    category = admin.categories.add({"name": "Gardening"})
    with archive(tmp_path, "com.books").open("rb") as file:
        package = client.packages.create({"categories": ["Gardening"], "tags": ["green"]}, {"demo.zip": file})
    assert (package.fully_qualified_name, package.categories) == (fqn, ["Gardening"])
    with archive(tmp_path, "com.books").open("rb") as file, pytest.raises(exceptions.HTTPConflict):
        client.packages.create({}, {"demo.zip": file})
    assert [one.id for one in client.packages.filter(fqn=fqn)] == [package.id]
    assert package.id in [one.id for one in client.packages.list()]
    client.packages.update(package.id, {"description": "Greets"})
    assert client.packages.get(package.id).description == "Greets"
    assert zipfile.ZipFile(io.BytesIO(client.packages.download(package.id))).testzip() is None
    assert client.packages.get_logo(package.id).startswith(b"\x89PNG")
    assert client.packages.get_ui(package.id)["Application"]["?"]["type"] == fqn
    client.packages.toggle_active(package.id)
    assert client.packages.get(package.id).enabled is False
    with pytest.raises(exceptions.HTTPForbidden):
        client.packages.toggle_public(package.id)
    with pytest.raises(exceptions.HTTPForbidden):
        Client(site.url, token=site.tokens["other"]).packages.get(package.id)
    assert [one.name for one in client.categories.list() if one.package_count] == ["Gardening"]
    with pytest.raises(exceptions.HTTPForbidden):
        client.categories.delete(category.id)
    client.packages.delete(package.id)
    admin.categories.delete(category.id)
    with pytest.raises(exceptions.HTTPNotFound):
        client.packages.get(package.id)
    with pytest.raises(exceptions.HTTPUnauthorized):
        Client(site.url, token="nobody").environments.list()


def test_the_library_takes_an_environment_through_its_life(site: Site, tmp_path: Path) -> None:
    from muranoclient.common import exceptions
    from muranoclient.v1.client import Client

    client = Client(site.url, token=site.tokens["demo"])
    fqn, number = "com.library.Demo", "a1" * 16
    with archive(tmp_path, "com.library").open("rb") as file:
        package = client.packages.create({}, {"demo.zip": file})

    environment = client.environments.create({"name": "library"})
    assert client.environments.get(environment.id).status == "ready"
    assert client.environments.find(name="library").id == environment.id
    with pytest.raises(exceptions.HTTPConflict):
        client.environments.create({"name": "library"})
    session = client.sessions.configure(environment.id)
    client.services.post(environment.id, path="/", data=app(fqn), session_id=session.id)
    client.services.put(environment.id, f"/{number}/count", 3, session.id)
    assert client.services.get(environment.id, f"/{number}", session.id).count == 3
    patch = [{"op": "replace", "path": "/defaultNetworks/flat", "value": None}]
    assert client.environments.update_model(environment.id, patch, session.id)["name"] == "library"
    assert client.environments.get_model(environment.id, "/services", session.id)[0]["count"] == 3
    client.sessions.deploy(environment.id, session.id)
    assert settled(site, environment.id) == "ready"

    (deployment,) = client.deployments.list(environment.id)
    assert deployment.state == "success"
    reports = client.deployments.reports(environment.id, deployment.id)
    assert [one.text for one in reports] == [
        "Action deploy is scheduled", "starting demo", "demo done", "Deployment finished",
    ]  # fmt: skip
    of_the_app = client.deployments.reports(environment.id, deployment.id, number)
    assert [one.text for one in of_the_app] == ["starting demo", "demo done"]
    assert client.environments.last_status(environment.id, "")[number].text == "demo done"
    (service,) = client.services.list(environment.id)
    assert (service.name, service.count, service.deployed) == ("one", 3, True)

    task = client.actions.call(environment.id, f"{number}_sayHello", {"who": "you"})
    assert settled(site, environment.id) == "ready"
    assert client.actions.get_result(environment.id, task)["result"]["text"] == "hello you x1"
    called = {"className": fqn, "methodName": "staticEcho", "parameters": {"text": "5"}}
    assert client.static_actions.call(called).get_result() == {"echoed": "5", "num": 3}
    assert client.schemas.get(fqn).to_dict()[""]["properties"]["name"] == {"type": "string"}
    assert list(client.schemas.get(fqn, ["makeModel"]).to_dict()) == ["makeModel"]
    assert client.instance_statistics.get(environment.id) == []
    assert client.instance_statistics.get_aggregated(environment.id) == []
    assert client.request_statistics.list()[0].request_count > 0

    client.environments.delete(environment.id)
    assert settled(site, environment.id) == ""
    client.packages.delete(package.id)


def test_the_library_makes_environments_of_templates(site: Site, tmp_path: Path) -> None:
    from muranoclient.v1.client import Client

    client, other = (Client(site.url, token=site.tokens[name]) for name in ("demo", "other"))
    template = client.env_templates.create({"name": "plan", "is_public": True})
    client.env_templates.create_app(template.id, app("com.example.Demo", "two"))
    client.env_templates.update(template.id, "plan 2")
    assert client.env_templates.get(template.id).name == "plan 2"
    made = client.env_templates.create_env(template.id, {"name": "planned"})
    assert [one.name for one in client.services.list(made.environment_id, made.session_id)] == ["two"]
    copied = other.env_templates.clone(template.id, "copied")
    assert [one.name for one in other.env_templates.list() if not one.is_public] == ["copied"]
    client.env_templates.delete_app(template.id, "a1" * 16)
    assert client.env_templates.get(template.id).services == []
    client.env_templates.delete(template.id)
    other.env_templates.delete(copied.id)
    client.environments.delete(made.environment_id, abandon=True)
    assert settled(site, made.environment_id) == ""


def test_the_command_keeps_packages(murano: Command, tmp_path: Path) -> None:
    fqn, file = "com.shelf.Demo", str(archive(tmp_path, "com.shelf"))
    (package,) = [row[0] for row in murano.rows("package-import", "-c", "Web", "--", file) if fqn in row]
    assert "already registered" in murano("package-import", "--exists-action", "s", file)
    updated = murano.rows("package-import", "--exists-action", "u", file)
    (package,) = [row[0] for row in updated if fqn in row]
    assert murano.facts("package-update", package, "--name", "Shelf")["fully_qualified_name"] == fqn
    assert [row[1] for row in murano.rows("package-list", "--owned") if row[0] == package] == ["Shelf"]
    murano("package-download", package, "got.zip")
    assert zipfile.ZipFile(tmp_path / "got.zip").testzip() is None
    assert "Web" in {row[1] for row in murano.rows("category-list")}
    murano("package-delete", package)
    assert "not found" in murano("package-show", package, status=1)


def test_an_update_of_what_is_deployed_leaves_the_catalog_with_it(site: Site, murano: Command, tmp_path: Path) -> None:
    """docs/v1.md, "Importing a package again"."""
    from muranoclient.v1.client import Client

    client = Client(site.url, token=site.tokens["demo"])
    fqn, path = "com.again.Demo", archive(tmp_path, "com.again")
    with path.open("rb") as file:
        client.packages.create({}, {"demo.zip": file})
    environment = client.environments.create({"name": "again"}).id
    session = client.sessions.configure(environment).id
    client.services.post(environment, path="/", data=app(fqn), session_id=session)
    client.sessions.deploy(environment, session)
    assert settled(site, environment) == "ready"

    with zipfile.ZipFile(path, "a") as changed:
        changed.writestr("Resources/more.txt", "more")
    assert "Deleting package" in murano("package-import", "--exists-action", "u", str(path), status=1)
    (back,) = client.packages.filter(fqn=fqn)
    with zipfile.ZipFile(io.BytesIO(client.packages.download(back.id))) as kept:
        assert "Resources/more.txt" not in kept.namelist()
    task = client.actions.call(environment, "a1" * 16 + "_sayHello", {"who": "you"})
    assert settled(site, environment) == "ready"
    assert client.actions.get_result(environment, task)["result"]["text"] == "hello you x1"

    client.environments.delete(environment)
    assert settled(site, environment) == ""
    murano("package-import", "--exists-action", "u", str(path))
    (changed,) = client.packages.filter(fqn=fqn)
    assert "Resources/more.txt" in zipfile.ZipFile(io.BytesIO(client.packages.download(changed.id))).namelist()


def test_the_command_takes_an_environment_through_its_life(site: Site, murano: Command, tmp_path: Path) -> None:
    fqn = "com.shell.Demo"
    murano("package-import", str(archive(tmp_path, "com.shell")))
    (environment,) = [row[0] for row in murano.rows("environment-create", "shell") if "shell" in row]
    murano("environment-rename", "shell", "shell-2")
    session = murano.facts("environment-session-create", environment)["id"]
    patch = [{"op": "add", "path": "/-", "value": app(fqn)}]
    murano("environment-apps-edit", "--session-id", session, environment, written(tmp_path, patch))
    edit = [{"op": "replace", "path": "/defaultNetworks/flat", "value": None}]
    murano("environment-model-edit", "--session-id", session, environment, written(tmp_path, edit))
    shown = murano("environment-model-show", environment, "--path", "/services/0/name", "--session-id", session)
    assert json.loads(shown) == "one"
    murano("environment-deploy", "--session-id", session, environment)
    assert settled(site, environment) == "ready"
    assert [row[1] for row in murano.rows("deployment-list", environment)] == ["success"]
    assert murano.json("environment-show", "shell-2", "--only-apps")[0]["deployed"] is True
    assert [row[1] for row in murano.rows("app-show", environment)] == ["one"]

    called = ("--action-id", "a1" * 16 + "_sayHello", "--arguments", "who=you")
    task = murano("environment-action-call", environment, *called).split()[-1]
    assert settled(site, environment) == "ready"
    assert "hello you x1" in murano("environment-action-get-result", environment, "--task-id", task)
    assert "{'echoed': '5', 'num': 3}" in murano("static-action-call", fqn, "staticEcho", "--arguments", "text=5")
    assert murano.json("class-schema", fqn)[""]["properties"]["name"] == {"type": "string"}

    (template,) = [row[0] for row in murano.rows("env-template-create", "shell-plan") if "shell-plan" in row]
    murano("env-template-add-app", template, written(tmp_path, app(fqn)))
    made = murano.facts("env-template-create-env", template, "shell-3")
    murano("env-template-delete", template)
    murano("environment-delete", "--abandon", "shell-3")
    murano("environment-delete", "shell-2")
    assert settled(site, environment) == settled(site, made["environment_id"]) == ""
