"""`deploy/compose.yaml` makes real servers: the helper's container as root, the service's without rights beside it.

The file is run as it stands there, in a Docker of the test's own; images of others are made of Debian's packages under
their names (`script/debian-images`). Needs root, dockerd, docker compose, and the packages that the image is built of.
"""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.test_health_real import Place
from tests.support.docker import INSIDE, OUTSIDE, Compose, Docker, docker
from tests.support.servers import real_servers, traces
from tests.support.waiting import until
from vetro.clouds.nspawn.links import cloud_id

HELPER = Path("/var/lib/vetro-cloud-helper")
#: All but Grafana, which Debian does not have.
SERVICES = ("cloud-helper", "postgres", "migrate", "server", "worker", "proxy", "prometheus")
#: The file publishes it at this machine's own address only; whoever wants another one says so.
LISTEN = f"{INSIDE}:8080"


class ComposedService:
    """The service behind its proxy, as `Place` wants one."""

    def __init__(self, compose: Compose) -> None:
        self.compose = compose
        self.folder = compose.folder

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(LISTEN, timeout=120)
        try:
            connection.request(method, path, body, {"Host": "localhost:8080", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def admin(self, *words: str) -> str:
        return self.compose.inside("server", "vetro", "admin", *words).strip()


@pytest.fixture
def engine() -> Iterator[Docker]:
    if HELPER.exists():
        pytest.skip(f"this machine has a cloud helper of its own: {HELPER}")
    folder = Path(tempfile.mkdtemp(prefix="vetro-docker-"))
    try:
        with docker(folder) as found:
            yield found
    finally:
        left = traces(cloud_id(HELPER / "nspawn"), HELPER)
        for path in (folder, HELPER, Path("/run/vetro-cloud-helper")):
            shutil.rmtree(path, ignore_errors=True)
    assert not any(left.values()), left


@pytest.fixture
def composed(engine: Docker, tmp_path: Path) -> Iterator[Compose]:
    engine.make("script/debian-images")
    engine.call(
        "build", "--file", "deploy/Containerfile", "--tag", "vetro:local", str(Path(__file__).parents[2]), timeout=1800
    )
    secrets = {f"{name}_PASSWORD": f"{name.lower()}secret" for name in ("POSTGRES", "GRAFANA")}
    compose = Compose(engine, tmp_path, VETRO_LISTEN=LISTEN, **secrets)
    HELPER.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", str(real_servers().folder), str(HELPER / "images")], check=True)  # with all owners
    try:
        compose.call("up", "--detach", "--no-build", *SERVICES)
        yield compose
    finally:
        for name in ("server", "worker"):
            print(compose.call("logs", "--tail", "20", name))
        # What the documents say to do before all of it goes.
        with suppress(AssertionError):  # no worker, then no servers
            compose.inside("worker", "vetro", "cloud", "clean", "--workspace", "/var/lib/vetro-shared", "--yes")
        compose.call("down", "--volumes")


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_compose_makes_real_servers(composed: Compose) -> None:
    service = ComposedService(composed)

    def ready() -> bool:
        try:
            return service.send("GET", "/ready", None, {})[0] == 200
        except OSError:
            return False

    until(ready, 600)
    users = composed.processes(("cloud-helper", "server", "worker"))
    assert users == {"cloud-helper": {0}, "server": {990}, "worker": {990}}
    assert "CapEff:\t0000000000000000" in composed.inside("worker", "cat", "/proc/self/status")

    place = Place(service)  # type: ignore[arg-type]
    place.upload()
    id = place.deploy()
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False
    place.until(id, "running", 120)  # a worker without rights reaches its page

    def page() -> str:
        address = model["services"][0]["instance"]["ipAddresses"][0]
        fetch = [*composed.docker.enter(), "curl", "--silent", "--max-time", "10", f"http://{address}:8080/word"]
        return subprocess.run(fetch, capture_output=True, text=True, check=False).stdout

    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    model = place.ask("GET", f"/sessions/{session}/model")
    place.ask("DELETE", f"/sessions/{session}")
    assert page() == "hello\n"

    # Docker drops what a machine forwards; servers get out all the same.
    assert (
        "-P FORWARD DROP"
        in subprocess.run(
            [*composed.docker.enter(), "iptables", "-S", "FORWARD"], capture_output=True, text=True, check=True
        ).stdout
    )
    with socket.create_server((OUTSIDE, 0)) as outside:
        taken = threading.Thread(target=lambda: outside.accept()[0].close(), daemon=True)
        taken.start()
        said = command(place, id, f"exec 3<>/dev/tcp/{OUTSIDE}/{outside.getsockname()[1]} && hostname")
        assert said == "web\n"
        taken.join(10)
        assert not taken.is_alive()

    # The helper's container is replaced: servers go on, and what was asked for meanwhile is done by the next one.
    before = running()
    composed.call("rm", "--force", "--stop", "cloud-helper")
    actions = place.ask("GET", f"/environments/{id}/actions")["items"]
    (action,) = [row["id"] for row in actions if row["name"] == "hush"]
    task = place.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}})
    assert page() == "hello\n"
    time.sleep(2)
    composed.call("up", "--detach", "--no-build", "cloud-helper")
    place.done(task)
    place.until(id, "down", 120)
    assert page() == ""
    assert running() == before
    assert command(place, id, "id -u") == "0\n"

    # A stop and a start, by a helper that did not make the server.
    place.done(place.ask("POST", f"/environments/{id}/restart"))
    assert running() != before
    place.act(id, "talk")
    place.until(id, "running", 120)
    place.done(place.ask("DELETE", f"/environments/{id}"))
    until(lambda: not list(HELPER.glob("nspawn/servers/*")), 60)


def running() -> object:
    """Process numbers of the one server."""
    (file,) = HELPER.glob("nspawn/servers/*/running.json")
    return json.loads(file.read_text())


def command(place: Place, id: str, text: str) -> str:
    """What a command says in the one server."""
    (server,) = place.ask("GET", f"/environments/{id}/servers")["items"]
    wanted = json.dumps({"command": ["bash", "-c", text]}).encode()
    headers = {"X-Auth-Token": place.token, "Content-Type": "application/json"}
    status, events = place.service.send(
        "POST", f"/v2/environments/{id}/servers/{server['id']}/commands", wanted, headers
    )
    assert status == 200, events
    said = [base64.b64decode(json.loads(line[6:])["data"]) for line in events.decode().splitlines() if '"data"' in line]
    return b"".join(said).decode()
