"""Impact over a fleet, in a service of its own: how long it takes, what it needs, and that forms go on meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server.impact.fleet import archive, shop
from tests.server.servekit import NewService
from tests.support.fuzzing import EVERYTHING
from vetro.clouds.quotas import OF_CLOUD

ROOT = Path(__file__).parents[3]
#: Packages, and environments of each.
PACKAGES, EACH = (5, 200) if EVERYTHING else (2, 10)
#: MiB of all processes of the service together; shared pages are counted once.
MOST_MEMORY = 1536
FILL = """
import sys
from pathlib import Path
from vetro.server import setup
from vetro.server.config.config import Config
setup.setup(Config.load(Path(sys.argv[1])))
from tests.server.impact.copies import copies
for environment in sys.argv[3:]:
    copies(Path(sys.argv[1]) / "cloud", environment, int(sys.argv[2]))
"""


class Client:
    """One person's requests."""

    def __init__(self, service: NewService, token: str) -> None:
        self.service, self.headers = service, {"X-Auth-Token": token}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers, **({} if body is None else {"Content-Type": "application/json"})}
        status, answer = self.service.send(method, f"/v2{path}", data, headers)
        assert status < 300, (path, status, answer)
        return json.loads(answer) if answer else None

    def upload(self, path: str, data: bytes) -> Any:
        edge = "edge-of-parts"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
        body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
        kind = f"multipart/form-data; boundary={edge}"
        status, answer = self.service.send("POST", f"/v2{path}", body, {**self.headers, "Content-Type": kind})
        assert status < 300, (path, status, answer)
        return json.loads(answer)


def memory(service: NewService) -> int:
    """MiB of the service and all below it."""
    total = 0
    for pid in {service.process.pid, *service.everybody()}:
        try:
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total >> 10


def processor(service: NewService) -> float:
    """Seconds of processor time that the service and all below it have had, with what ended meanwhile."""
    ticks = 0
    for pid in {service.process.pid, *service.everybody()}:
        try:
            row = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, row[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.campaign
def test_a_fleet(tmp_path: Path) -> None:
    limits = {f"VETRO_QUOTAS__{name.upper()}": "-1" for name in OF_CLOUD}  # no project has so many by default
    settings = {"VETRO_CLOUD__DRIVER": "record", "VETRO_WORKER__TASKS": "4", **limits}
    service = NewService(tmp_path, **settings)
    try:
        service.await_ready()
        service.admin("project", "create", "demo")
        service.admin("user", "create", "ann", "--project", "demo", "--role", "member", input="a long password\n")
        client = Client(service, service.admin("token", "create", "ann", "-o", "value"))
        names = [f"test.p{number}" for number in range(PACKAGES)]
        made = []
        for number, name in enumerate(names):
            client.upload("/packages", archive("1.0.0", name=name))
            id = client.ask("POST", "/environments", {"name": f"first of {name}"})["id"]
            session = client.ask("POST", f"/environments/{id}/sessions")["id"]
            client.ask("POST", f"/sessions/{session}/components", shop(number + 1, f"{name}.Shop/1.0.0"))
            task = client.ask("POST", f"/sessions/{session}/deploy")["id"]
            while client.ask("GET", f"/tasks/{task}")["state"] in ("queued", "running"):
                time.sleep(0.2)
            made.append(id)
        command = [sys.executable, "-c", FILL, str(tmp_path / "data"), str(EACH - 1), *made]
        subprocess.run(command, check=True, env={**service.environment, "PYTHONPATH": str(ROOT)}, timeout=1800)

        form = client.ask("POST", "/forms", {"class": f"{names[0]}.Shop", "environment_id": made[0]})["id"]
        begun, had = time.monotonic(), processor(service)
        asked = [client.upload("/packages/impact", archive("1.1.0", name=name)) for name in names]
        waited, most = [], 0
        while any(one["state"] == "running" for one in asked):
            at = time.monotonic()
            client.ask("POST", f"/forms/{form}/evaluate", {"answers": {"text": "some"}})
            waited.append(time.monotonic() - at)
            most = max(most, memory(service))
            time.sleep(1.0)
            asked = [client.ask("GET", f"/packages/impact/{one['id']}") for one in asked]
        took, had = time.monotonic() - begun, processor(service) - had
        for one in asked:
            told = [(group["group"], group["count"], group["reasons"]) for group in one["groups"]]
            assert [row[:2] for row in told] == [("changes", EACH)], told
        waited.sort()
        middle, late = waited[len(waited) // 2], waited[int(len(waited) * 0.95)]
        print(
            f"\n{PACKAGES} x {EACH} environments: {took:.0f} s, {most} MiB; forms: {middle:.3f} s, 95 % {late:.3f} s;"
        )
        print(f"processor: {had:.0f} s, {1000 * had / PACKAGES / EACH:.0f} ms an environment", end="; ")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        assert most <= MOST_MEMORY
    finally:
        service.end()
