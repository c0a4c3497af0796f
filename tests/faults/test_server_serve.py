"""`vetro serve` is killed in the middle of a deployment and started again: the deployment goes on and ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.server_orders import CHAIN
from tests.faults.world import World
from tests.server.servekit import Service, alive
from tests.server.tasks import shop
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STEPS = 60


class User:
    """Somebody who sends requests with a token."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._token = service.admin("token", "create", "admin", "-o", "value")

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Any:
        status, answer = self.service.send(method, path, body, {"X-Auth-Token": self._token, **headers})
        assert status == 200, (path, status, answer)
        return json.loads(answer) if answer else None

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        return self.send("POST", path, data, **{"Content-Type": "application/json", **headers})

    def upload(self, archive: bytes) -> None:
        head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="p.zip"\r\n\r\n'
        body = head + archive + b"\r\n--cut--\r\n"
        self.send("POST", "/v1/catalog/packages", body, **{"Content-Type": "multipart/form-data; boundary=cut"})


def begun(folder: Path) -> Service:
    service = Service(folder, PYTHONPATH=str(Path(__file__).parents[2]))
    service.await_ready()
    return service


@pytest.mark.campaign
def test_the_service_is_killed_and_started_again(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    world = World(path)
    (tmp_path / "data").mkdir()
    cloud = f'[cloud]\nkind = "tests.faults.server_cloud:make"\nsettings = {{path = "{path}"}}\n'
    (tmp_path / "data" / "vetro.toml").write_text(cloud)
    services = [begun(tmp_path)]
    try:
        user = User(services[0])
        user.upload(shop.archive({"Classes/Shop.yaml": CHAIN}))
        environment = user.post("/v1/environments", {"name": "e"})["id"]
        session = user.post(f"/v1/environments/{environment}/configure")["id"]
        instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "server"}, "name": "web",
                    "image": "i", "flavor": "f"}  # fmt: skip
        app = {"?": {"type": "test.Shop", "id": "app"}, "title": "t", "steps": STEPS, "instance": instance}
        user.post(f"/v1/environments/{environment}/services", app, **{"X-Configuration-Session": session})
        user.post(f"/v1/environments/{environment}/sessions/{session}/deploy")
        where = f"/v1/environments/{environment}"
        until(lambda: len(world.done("run")) >= 3 or user.send("GET", where)["status"] != "deploying")
        assert world.done("run"), user.send("GET", f"{where}/deployments")
        children = services[0].everybody()
        services[0].process.kill()
        services[0].process.wait()
        until(lambda: not any(map(alive, children)), 10)
        before = len(world.done("run"))
        assert before < STEPS, "it was too quick to be killed"

        services[0].ready.unlink()
        services.append(begun(tmp_path))
        user.service = services[1]
        until(lambda: user.send("GET", where)["status"] != "deploying")
        assert user.send("GET", where)["status"] == "ready"
        assert world.done("run") == [f"t {n}" for n in range(STEPS)]
        assert len(world.done("push")) == STEPS
        (deployment,) = user.send("GET", f"{where}/deployments")["deployments"]
        assert deployment["state"] == "success"
        told = user.send("GET", f"{where}/deployments/{deployment['id']}")["reports"]
        texts = [report["text"] for report in told]
        assert texts[0] == "Action deploy is scheduled"
        assert [text for text in texts if text.startswith("step ")] == [f"step {n}" for n in range(STEPS)]
        assert texts[-1].startswith("Deployment finished") and texts.count(texts[-1]) == 1
        assert services[1].end() == 0
        assert list((tmp_path / "data" / "run").iterdir()) == []
    finally:
        for service in services:
            if service.process.poll() is None:
                service.process.kill()
                service.process.wait()
        world.close()
