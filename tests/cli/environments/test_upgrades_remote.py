"""`vetro upgrade` and `vetro impact` against a server: what they ask, plan and deploy is what its API says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import write_package
from tests.cli.remotekit import Remote
from tests.support.waiting import until

SHOP = """\
Namespaces: {=: up, std: io.murano, l: io.vetro.lifecycle}
Name: Shop
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
%s
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'The shop is open')
"""
VERSIONS = {
    "1.0.0": "  listenPort: {Contract: $.int().notNull(), Default: 80}\n  motd: {Contract: $.string()}",
    "2.0.0": "  port: {Contract: $.int().notNull(), Meta: {l:Renamed: {from: listenPort, to: 2.0.0}}}\n"
    "  mode: {Contract: $.string().notNull()}",
}


class Server:
    """Requests and commands of ann."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.headers = {"X-Auth-Token": remote.installation.tokens["ann"], "Content-Type": "application/json"}

    def folder(self, version: str) -> str:
        """The folder of a version of the shop."""
        made = self.remote.folder / f"up-{version}"
        if not made.exists():
            text = SHOP % VERSIONS[version]
            write_package(made, {"up.Shop": text}, name="up", version=version, extra="Require: {io.vetro: 1}\n")
        return str(made)

    def publish(self, version: str) -> None:
        self.remote.ok("package", "publish", self.folder(version))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        status, answer = self.remote.service.send(method, f"/v2{path}", data, self.headers)
        assert status < 300, (path, status, answer)
        return json.loads(answer) if answer else None

    def market(self, name: str) -> str:
        """An environment with a shop of version 1.0.0, deployed; its id."""
        id = str(self.ask("POST", "/environments", {"name": name})["id"])
        session = self.ask("POST", f"/environments/{id}/sessions")["id"]
        shop = {"?": {"type": "up.Shop/1.0.0", "id": "shop", "name": "shop"}, "name": "web", "listenPort": 8080}
        self.ask("POST", f"/sessions/{session}/components", {**shop, "motd": "Welcome"})
        self.ask("POST", f"/sessions/{session}/deploy")
        until(lambda: self.ask("GET", f"/environments/{id}")["status"] == "ready")
        return id

    def shop(self, session: str) -> Any:
        """The shop as a draft has it."""
        (found,) = self.ask("GET", f"/sessions/{session}/model")["services"]
        return found


@pytest.mark.campaign  # the API itself: tests/server/api/v2
def test_a_command_does_what_the_api_does(remote: Remote) -> None:
    server = Server(remote)
    server.publish("1.0.0")
    here, there = server.market("up-here"), server.market("up-there")

    # What the next version would change, before anybody has it.
    def impact(what: str) -> Any:
        said = remote.ok("impact", what).output
        assert "up.Shop.mode" in said and "up-here" in said and "up-there" in said
        found = json.loads(remote.ok("impact", what, "-o", "json").stdout)
        return [(group["group"], group["count"]) for group in found["groups"]]

    assert impact(server.folder("2.0.0")) == [("asks", 2)]
    server.publish("2.0.0")
    assert impact("up/2.0.0") == [("asks", 2)]

    listed = remote.ok("upgrade", "--list", "up-here").stdout
    assert "up" in listed and "1.0.0" in listed and "2.0.0" in listed
    asked = remote.refused("upgrade", "up-here")
    assert asked.count("--set ") == 1 and "--set shop.mode=VALUE" in asked
    assert asked.count("--drop ") == 1 and "--drop shop.motd" in asked
    given = ["upgrade", "up-here", "--set", "shop.mode=fast", "--drop", "shop.motd"]
    assert "listenPort: 8080 -> not set" in remote.ok(*given, "--plan").output
    assert server.ask("GET", f"/environments/{here}")["status"] == "ready", "a plan leaves no draft"
    assert "keeping everything as it is" in remote.ok(*given, "--settle", "0").output

    body = {"answers": {"shop": {"mode": "fast"}}, "drops": ["shop.motd"]}
    drafted = server.ask("POST", f"/environments/{there}/upgrades", body)["session"]["id"]
    now = server.ask("POST", f"/environments/{here}/sessions")["id"]
    assert server.shop(drafted) == server.shop(now)
    assert (server.shop(now)["port"], server.shop(now)["mode"]) == (8080, "fast")
