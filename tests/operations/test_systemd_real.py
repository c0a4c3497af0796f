"""The units under a systemd of their own, as docs/operations/one-machine.md has them installed: they make real servers,
outlive kills and restarts, and after a start of the machine all runs again that should.

Needs root and systemd-nspawn, which boots that systemd (`tests/support/booted.py`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_health_real import Place
from tests.support.booted import ROOT, Booted
from tests.support.servers import real_servers, traces
from tests.support.waiting import until
from vetro.clouds.nspawn.links import cloud_id

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(5400)]

HELPER = Path("/var/lib/vetro-cloud-helper")
SETTINGS = """\
[server]
public_url = "http://localhost:8082"

[worker]
embedded = 1
tasks = 2
"""
_DATA = ("--data", "/var/lib/vetro", "--config", "/etc/vetro/vetro.toml")
#: Seconds for anything to happen on a machine that does much else. No figure of this test: how long things took is
#: printed. The claim for all that should run after a start of the machine is 60, where nothing else is done.
PATIENCE = 900.0


class BootedService:
    """The service in a machine, as `Place` wants one."""

    def __init__(self, machine: Booted) -> None:
        self.machine = machine
        self.folder = machine.root / "var/lib/vetro"

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """By curl in the machine, whose network nobody else is in."""
        words = ["curl", "--silent", "--show-error", "--max-time", "120", "--request", method, "--data-binary", "@-"]
        words = words[:-2] if body is None else words
        for name, value in {"Host": "localhost:8082", **headers}.items():
            words += ["--header", f"{name}: {value}"]
        words += ["--write-out", "\n%{http_code}", f"http://127.0.0.1:8082{path}"]
        text, _, status = self.machine.output(*words, input=body, check=False).rpartition(b"\n")
        return int(status or 0), text

    def admin(self, *words: str) -> str:
        return self.vetro("admin", *words, *_DATA)

    def vetro(self, *words: str, check: bool = True) -> str:
        """A command as user ``vetro``."""
        return self.machine.call("runuser", "-u", "vetro", "--", "/opt/vetro/bin/vetro", *words, check=check)

    def ready(self) -> bool:
        return self.send("GET", "/ready", None, {})[0] == 200


def await_ready(service: BootedService) -> None:
    """Until it answers; else the journal is told."""
    begun = time.monotonic()
    while not service.ready():
        assert time.monotonic() - begun < PATIENCE, service.machine.said()
        time.sleep(0.5)
    print(f"the service is ready after {time.monotonic() - begun:.1f} s")


def install(machine: Booted) -> None:
    """What the document says, but for the code, which is this checkout's."""
    program = machine.root / "opt/vetro/bin/vetro"
    program.parent.mkdir(parents=True)
    code = ":".join([str(ROOT / "src"), *(path for path in sys.path if "site-packages" in path)])
    python = shutil.which("python3.11", path="/usr/bin:/usr/local/bin") or sys.executable
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH={code} PYTHONDONTWRITEBYTECODE=1\nexec {python} -m vetro "$@"\n')
    program.chmod(0o755)
    for path in (ROOT / "deploy/systemd").glob("vetro*"):
        if path.suffix in (".service", ".timer"):
            shutil.copy(path, machine.units)
    (machine.root / "etc/sysusers.d").mkdir(exist_ok=True)
    shutil.copy(ROOT / "deploy/systemd/vetro.sysusers", machine.root / "etc/sysusers.d/vetro.conf")
    (machine.root / "etc/vetro").mkdir()
    (machine.root / "etc/vetro/vetro.toml").write_text(SETTINGS)
    helper = machine.root / HELPER.relative_to("/")
    helper.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", str(real_servers().folder), str(helper / "images")], check=True)  # with all owners


@pytest.fixture
def machine() -> Iterator[Booted]:
    if HELPER.exists():
        pytest.fail(f"this machine has a cloud helper of its own, whose servers the test would meet: {HELPER}")
    folder = Path(tempfile.mkdtemp(prefix="vetro-systemd-"))
    folder.chmod(0o755)
    made = Booted(folder)
    try:
        install(made)
        made.boot()
        made.call("systemd-sysusers")
        made.call("install", "-d", "-o", "vetro", "-g", "vetro", "-m", "0700", "/var/lib/vetro-backups")
        yield made
    finally:
        made.off()
        left = traces(cloud_id(HELPER / "nspawn"), HELPER)
        shutil.rmtree(folder, ignore_errors=True)
    assert not any(left.values()), left


def running(machine: Booted) -> dict[str, int]:
    """Servers whose first process lives, by name, and which one that is there."""
    found = {}
    for folder in (machine.root / HELPER.relative_to("/") / "nspawn/servers").glob("*"):
        name = json.loads((folder / "server.json").read_text())["name"]
        if (folder / "running.json").exists():
            pids = [pid for pid, *_ in json.loads((folder / "running.json").read_text()).values()]
            if machine.call(
                "sh", "-c", " && ".join(f"test -d /proc/{pid}" for pid in pids) + " && echo yes", check=False
            ):
                found[name] = pids[0]
    return found


def main_pid(machine: Booted, unit: str) -> int:
    return int(machine.call("systemctl", "show", "--property=MainPID", "--value", unit))


def page(machine: Booted, place: Place, id: str) -> str:
    """What the application answers, in the machine."""
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    (talker,) = place.ask("GET", f"/sessions/{session}/model")["services"]
    place.ask("DELETE", f"/sessions/{session}")
    url = f"http://{talker['instance']['ipAddresses'][0]}:8080/word"
    return machine.call("curl", "--silent", "--max-time", "10", url, check=False)


def test_units_make_real_servers_and_outlive_kills_and_a_start_of_the_machine(machine: Booted) -> None:
    machine.call("systemctl", "daemon-reload")
    machine.call("systemctl", "enable", "--now", "vetro-cloud-helper", "vetro", "vetro-backup.timer")
    service = BootedService(machine)
    await_ready(service)
    assert machine.call("systemctl", "list-units", "--failed", "--no-legend") == ""
    for unit, user in (("vetro", "vetro"), ("vetro-cloud-helper", "root")):
        assert machine.call("stat", "--format=%U", f"/proc/{main_pid(machine, unit)}") == user
    journal = machine.call("journalctl", "--unit=vetro", "--output=cat", "--no-pager")
    assert "nspawn" in journal, "it says which cloud it has"
    walls = service.vetro("doctor", "--machine", check=False)
    assert "walls" in walls or "active" in walls

    place = Place(service)  # type: ignore[arg-type]
    place.upload()
    id = place.deploy()
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False
    place.until(id, "running", PATIENCE)
    assert page(machine, place, id) == "hello"
    before = running(machine)
    assert set(before) == {"web"}

    machine.call("systemctl", "restart", "vetro-cloud-helper")
    place.act(id, "talk")
    assert running(machine) == before, "servers outlive a restart of the helper"

    # The service and the helper are killed: systemd starts them again, and servers go on.
    for unit in ("vetro-cloud-helper", "vetro"):
        old = main_pid(machine, unit)
        machine.call("systemctl", "kill", "--signal=KILL", unit)
        until(lambda unit=unit, old=old: main_pid(machine, unit) not in (0, old), PATIENCE)  # type: ignore[misc]
    await_ready(service)
    place.until(id, "running", PATIENCE)
    place.act(id, "talk")
    assert running(machine) == before

    machine.call("systemctl", "start", "vetro-backup.service")
    (backup,) = (machine.root / "var/lib/vetro-backups").glob("vetro-*.tar")
    assert backup.stat().st_size > 10_000

    stopped = second(place)
    place.done(place.ask("POST", f"/environments/{stopped}/stop"))
    restart(machine, service, place, id, stopped)
    for one in (id, stopped):
        place.done(place.ask("DELETE", f"/environments/{one}"))
    until(lambda: not list((machine.root / HELPER.relative_to("/")).glob("nspawn/servers/*")), PATIENCE)


def second(place: Place) -> str:
    """Another environment, whose server is `idle`."""
    id = place.ask("POST", "/environments", {"name": "second"})["id"]
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    model = place.ask("GET", f"/sessions/{session}/model")
    server = {"?": {"id": "t" * 32, "type": "io.murano.resources.LinuxMuranoInstance"}, "name": "idle"}
    server |= {"flavor": "m1.small", "image": "debian-12-murano"}
    talker = {"?": {"id": "b" * 32, "type": "test.Talker", "name": "second"}, "instance": server}
    place.ask("PUT", f"/sessions/{session}/model", {**model, "services": [talker]})
    place.done(place.ask("POST", f"/sessions/{session}/deploy"))
    return str(id)


def restart(machine: Booted, service: BootedService, place: Place, id: str, stopped: str) -> None:
    """The machine is started again: what should run does within a minute, once, and what was stopped stays stopped."""
    powered = power_tasks(place, id)
    machine.reboot()
    until(lambda: main_pid(machine, "vetro") != 0, PATIENCE)
    begun = time.monotonic()
    until(lambda: set(running(machine)) == {"web"}, PATIENCE)
    print(f"everything that should run does {time.monotonic() - begun:.1f} s after the service was started")
    await_ready(service)
    until(lambda: power_tasks(place, id)[len(powered) :] and all(power_tasks(place, id)), PATIENCE)
    time.sleep(15)  # longer than between two looks at all servers
    assert len(power_tasks(place, id)) == len(powered) + 1, "nothing is started twice"
    assert set(running(machine)) == {"web"}
    place.until(stopped, "stopped", PATIENCE)
    place.act(id, "talk")
    place.until(id, "running", PATIENCE)
    assert page(machine, place, id) == "hello"


def power_tasks(place: Place, id: str) -> list[Any]:
    """Of each whether it has ended."""
    rows = place.ask("GET", f"/tasks?environment={id}")["items"]
    return [row["final"] for row in rows if row["kind"] == "power"]
