"""What a service says of servers in an OpenStack, by its API: the strict double stands for Keystone, Heat and Nova, and
the broker is a real one. A death is seen and told, an action on the dead ends, and nothing is green while nobody knows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_health_real import Place
from tests.agent.broker import start_broker
from tests.plugins.openstack.fake import Reply
from tests.plugins.openstack.strict import Strict
from tests.server.notices.receivers import WebReceiver
from tests.server.servekit import Service
from tests.support.pace import Pace

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]

#: Seconds (of a machine that does nothing else, `Pace`): until a death is told, until what is well again is, and until
#: an action on a dead server ends.
SEEN, BACK, SOON = 15.0, 60.0, 10.0
TALKER = """\
Namespaces: {=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Talker
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
  talk:
    Scope: Public
    Body:
      - conf:Linux.runCommand($.instance.agent, hostname, 'Talk')
"""


class Site(Strict):
    """Its stacks tell what their outputs refer to, and its Nova lists the servers that they have made."""

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        ids = {one["resource_name"]: one["physical_resource_id"] for one in row["resources"]}
        shown = super()._shown(row)
        for output in shown["outputs"]:
            match output["output_value"]:
                case {"get_resource": name}:
                    output["output_value"] = ids[name]
                case {"get_attr": _}:
                    output["output_value"] = {"corp": ["10.9.0.4"]}
        return shown

    def own(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply | None:
        if (service, method, path) == ("nova", "GET", "/servers/detail"):
            return 200, {"servers": [] if "marker" in query else list(self.servers.values())}
        return super().own(service, method, path, query, body)


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()
    with found:
        yield found


@pytest.fixture
def place(tmp_path: Path, site: Site, receiver: WebReceiver) -> Iterator[Place]:
    own = {"auth_url": site.url, "username": "worker", "password": "secret", "project_name": "p"}
    with start_broker(tmp_path / "broker") as broker:
        service = Service(
            tmp_path,
            VETRO_CLOUD__KIND="openstack",
            VETRO_CLOUD__OPENSTACK=json.dumps(own),
            VETRO_NETWORKING__DRIVER="nova",
            VETRO_ENGINE__BROKER=json.dumps({"host": "127.0.0.1", "port": broker.port, "login": "guest",
                                             "password": "guest"}),
            VETRO_NOTICES__HOSTS=json.dumps(["*", receiver.host]),
            NO_PROXY="127.0.0.1",
            no_proxy="127.0.0.1",
        )  # fmt: skip
        try:
            service.await_ready()
            yield Place(service)
        finally:
            service.end()


def within(seconds: float, what: str, met: Callable[[], Any]) -> None:
    pace = Pace()
    while not met():
        assert pace.seconds < seconds, (what, str(pace))
        time.sleep(0.1)
    print(f"{what} after {pace}")


def test_a_death_is_seen_told_and_nobody_waits_for_the_dead(place: Place, site: Site, receiver: WebReceiver) -> None:
    def state() -> str:
        return str(place.ask("GET", f"/environments/{id}")["health"]["state"])

    def told(*words: str) -> bool:
        return any(all(word in body.decode() for word in words) for _, _, body in list(receiver.posts))

    place.upload(TALKER)
    target = place.ask("POST", "/notices/targets", {"name": "ops", "kind": "webhook", "url": receiver.url})
    place.ask("POST", "/notices/rules", {"target_id": target["id"], "least": "warning"})
    id = deploy(place)
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False
    within(BACK, "running", lambda: state() == "running")
    (server,) = site.servers.values()

    # Nova says that it broke.
    server.update(status="ERROR", fault={"message": "the host is gone"})
    within(SEEN, "down", lambda: state() == "down")
    within(BACK, "a notice of the death", lambda: told("talker", "is down"))
    task = act(place, id, "talk")
    within(SOON, "the action ended", lambda: place.ask("GET", f"/tasks/{task['id']}")["final"])
    found = place.ask("GET", f"/tasks/{task['id']}")
    assert found["state"] == "failed" and "server 'web' is broken: the host is gone" in found["error"]["message"], found
    assert place.ask("GET", f"/environments/{id}")["status"] == "ready", "a deployment has not failed"

    def drifted() -> list[str]:
        return [item["kind"] for item in place.ask("GET", f"/environments/{id}/drift")["items"]]

    within(BACK, "drift is told", lambda: drifted() == ["server-ended"])

    # Started by a person: Nova is asked once, by what fits a broken server.
    place.done(place.ask("POST", f"/environments/{id}/start"))
    assert [name for _, name in site.acted] == ["reboot"] and server["status"] == "ACTIVE"
    within(BACK, "running again", lambda: state() == "running")

    # Nobody knows while the cloud does not answer.
    with site.lock:
        site.trouble = [("GET", "/servers", 503)] * 10_000
    within(BACK, "unknown", lambda: state() == "unknown")
    with site.lock:
        site.trouble.clear()
    within(BACK, "known again", lambda: state() == "running")

    # Stopped on purpose is not down; an action on it says so.
    place.done(place.ask("POST", f"/environments/{id}/stop"))
    assert server["status"] == "SHUTOFF"
    within(BACK, "stopped", lambda: state() == "stopped")
    task = act(place, id, "talk")
    within(SOON, "the action ended", lambda: place.ask("GET", f"/tasks/{task['id']}")["final"])
    assert "server 'web' is switched off" in place.ask("GET", f"/tasks/{task['id']}")["error"]["message"]


def act(place: Place, id: str, method: str) -> Any:
    """The task of an action."""
    rows = place.ask("GET", f"/environments/{id}/actions")["items"]
    (action,) = [row["id"] for row in rows if row["name"] == method]
    return place.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}})


def deploy(place: Place) -> str:
    """An environment with one server, of what the double has."""
    id = str(place.ask("POST", "/environments", {"name": "talk"})["id"])
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    model = place.ask("GET", f"/sessions/{session}/model")
    instance = {"?": {"id": "s" * 32, "type": "io.murano.resources.LinuxMuranoInstance"}, "name": "web"}
    instance |= {"flavor": "gp1.small", "image": "ubuntu-24", "keyname": "ops"}
    talker = {"?": {"id": "a" * 32, "type": "test.Talker", "name": "talker"}, "instance": instance}
    place.ask("PUT", f"/sessions/{session}/model", {**model, "services": [talker]})
    place.done(place.ask("POST", f"/sessions/{session}/deploy"))
    return id
