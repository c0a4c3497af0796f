"""A disk without room: each write is refused with a clear answer, nothing is damaged, and all goes on afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.campaign.backing import Absent, Postgres
from tests.faults.test_server_serve import User
from tests.server.servekit import Service
from tests.server.tasks import shop
from tests.support.needs import need
from tests.support.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.attack("data", "full disk"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 48 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "vetro-test", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextlib.contextmanager
def full(disk: Path) -> Iterator[None]:
    """Nothing can be written meanwhile; 16 KiB are left, in which a transaction may begin and not end."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        with contextlib.suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(1 << 16))
        os.ftruncate(file.fileno(), max(os.fstat(file.fileno()).st_size - (16 << 10), 0))
    try:
        yield
    finally:
        ballast.unlink()


def vetro(service: Service, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vetro.cli.main", *words]
    return subprocess.run(command, env=service.environment, capture_output=True, text=True, timeout=240)


def asked(user: User, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-Auth-Token": user._token, "Content-Type": "application/json"}
    status, answer = user.service.send(method, path, data, headers)
    return status, json.loads(answer) if status == 200 else answer  # /v1 tells errors as HTML


@pytest.mark.campaign
def test_a_service_goes_on_when_there_is_room_again(disk: Path, tmp_path: Path) -> None:
    service = Service(disk, VETRO_CLOUD__DRIVER="record")
    try:
        service.await_ready()
        user = User(service)
        user.upload(shop.archive())
        environment = user.post("/v1/environments", {"name": "before"})["id"]
        session = user.post(f"/v1/environments/{environment}/configure")["id"]
        shop_model = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner"}
        head = {"x-configuration-session": session}
        user.post(f"/v1/environments/{environment}/services", shop_model, **head)

        with full(disk):
            statuses = set()
            for number in range(40):
                status, answer = asked(
                    user, "POST", "/v1/environments", {"name": f"full-{number}", "description_text": "x" * 9000}
                )
                statuses.add(status)
                if status != 200:
                    assert status == 503, answer
            assert 503 in statuses
            name = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="p.zip"\r\n\r\n'
            text = shop.SHOP.replace("=: test", "=: other") + "#" + os.urandom(40_000).hex()
            package = shop.archive({"Classes/Shop.yaml": text}, shop.MANIFEST.replace("test.", "other."))
            status, body = service.send(
                "POST", "/v1/catalog/packages", name + package + b"\r\n--cut--\r\n",
                {"X-Auth-Token": user._token, "Content-Type": "multipart/form-data; boundary=cut"},
            )  # fmt: skip
            assert status in (503, 507), body
            assert asked(user, "GET", "/v1/environments")[0] == 200  # what is there can be read
            saved = vetro(service, "db", "backup", str(disk / "b.tar"))
            assert saved.returncode == 1 and "Traceback" not in saved.stderr, saved.stderr
            assert not (disk / "b.tar").exists()

        known = {row["name"] for row in user.send("GET", "/v1/environments")["environments"]}
        assert "before" in known
        user.post(f"/v1/environments/{environment}/sessions/{session}/deploy")
        until(lambda: asked(user, "GET", f"/v1/environments/{environment}")[1]["status"] == "ready")
        assert asked(user, "POST", "/v1/environments", {"name": "after"})[0] == 200
        checked = vetro(service, "db", "check", "-o", "json")
        assert not [found for found in json.loads(checked.stdout) if found["level"] == "error"], checked.stdout
        assert vetro(service, "db", "backup", str(tmp_path / "b.tar")).returncode == 0
    finally:
        service.end()
    assert "Traceback" not in service.errors.read_text()


@pytest.mark.campaign
def test_a_deployment_waits_for_room(disk: Path) -> None:
    """The disk fills while it runs: journal, checkpoints and reports wait, nothing is done twice."""
    service = Service(disk, VETRO_CLOUD__DRIVER="record")
    try:
        service.await_ready()
        user = User(service)
        user.upload(shop.archive())
        environment = user.post("/v1/environments", {"name": "e"})["id"]
        session = user.post(f"/v1/environments/{environment}/configure")["id"]
        head = {"x-configuration-session": session}
        model = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", "wait": 12}
        user.post(f"/v1/environments/{environment}/services", model, **head)
        user.post(f"/v1/environments/{environment}/sessions/{session}/deploy")
        path = f"/v1/environments/{environment}/deployments"
        until(lambda: "opening" in str(reports(user, path)))
        with full(disk):
            shutil.copyfile("/dev/null", disk / "nothing")  # a name costs no room
            status, answer = asked(user, "GET", f"/v1/environments/{environment}")
            assert (status, answer["status"]) == (200, "deploying")
            until(lambda: refused(user))
        until(lambda: asked(user, "GET", f"/v1/environments/{environment}")[1]["status"] != "deploying")
        assert asked(user, "GET", f"/v1/environments/{environment}")[1]["status"] == "ready", service.errors.read_text()
        texts = [row["text"] for row in reports(user, path)]
        assert texts.count("opening corner") == 1 and texts.count("open") == 1
    finally:
        service.end()


@pytest.fixture
def postgres() -> Iterator[tuple[Postgres, Path]]:
    """A PostgreSQL on a disk of 160 MiB of its own."""
    with tempfile.TemporaryDirectory(prefix="vetro-full-") as name:
        place = Path(name)
        place.chmod(0o755)  # PostgreSQL runs as another user
        disk = place / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "vetro-test", str(disk)], check=True)
        try:
            made = Postgres(disk / "postgres")
            try:
                yield made, disk
            finally:
                made.stop()
        except Absent as error:
            need(str(error))
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.campaign
def test_the_disk_of_postgresql_is_full_for_a_while(postgres: tuple[Postgres, Path], tmp_path: Path) -> None:
    """Whether PostgreSQL refuses what is written or stops as a whole: what it had said yes to is there afterwards."""
    server, disk = postgres
    service = Service(tmp_path, VETRO_CLOUD__DRIVER="record", VETRO_DATABASE__URL=server.url)
    try:
        service.await_ready()
        user = User(service)
        user.upload(shop.archive())
        environment = user.post("/v1/environments", {"name": "e"})["id"]
        session = user.post(f"/v1/environments/{environment}/configure")["id"]
        head = {"x-configuration-session": session}
        model = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", "wait": 12}
        user.post(f"/v1/environments/{environment}/services", model, **head)
        user.post(f"/v1/environments/{environment}/sessions/{session}/deploy")
        path = f"/v1/environments/{environment}/deployments"
        until(lambda: "opening" in str(reports(user, path)))
        made, statuses = {"e"}, set()
        with full(disk):
            for number in range(400):
                name = f"full-{number}"
                about = {"name": name, "description_text": os.urandom(15_000).hex()}
                status, answer = asked(user, "POST", "/v1/environments", about)
                statuses.add(status)
                made |= {name} if status == 200 else set()
                if status == 503:
                    break
                assert status == 200, answer
        assert 503 in statuses, statuses
        until(lambda: asked(user, "GET", "/v1/environments")[0] == 200)  # it may have started anew
        until(lambda: not refused(user))
        until(lambda: asked(user, "GET", f"/v1/environments/{environment}")[1]["status"] != "deploying")
        assert asked(user, "GET", f"/v1/environments/{environment}")[1]["status"] == "ready", service.errors.read_text()
        texts = [row["text"] for row in reports(user, path)]
        assert texts.count("opening corner") == 1 and texts.count("open") == 1
        known = {row["name"] for row in user.send("GET", "/v1/environments")["environments"]}
        assert made <= known
        assert not {name for name in known - made if name.startswith("full-")}
        checked = vetro(service, "db", "check", "-o", "json")
        assert not [found for found in json.loads(checked.stdout) if found["level"] == "error"], checked.stdout
    finally:
        service.end()
    assert "Traceback" not in service.errors.read_text()


def reports(user: User, path: str) -> Any:
    (deployment,) = asked(user, "GET", path)[1]["deployments"]
    return asked(user, "GET", f"{path}/{deployment['id']}")[1]["reports"]


def refused(user: User) -> bool:
    return (
        asked(user, "POST", "/v1/environments", {"name": os.urandom(8).hex(), "description_text": "x" * 5000})[0] == 503
    )
