"""The units run real servers: the service as a user without rights, the cloud helper as root beside it.

Their commands are executed as they stand there, with other folders and another user's name; what they say of rights is
done by `setpriv`. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.test_health_real import Place
from tests.operations.test_files import ROOT, commands_of
from tests.server.servekit import Service
from tests.support.cloud_helper import wait_for
from tests.support.servers import real_servers, traces
from tests.support.waiting import until
from vetro.clouds.nspawn.cgroups import Cgroups
from vetro.clouds.nspawn.links import cloud_id

USER = "nobody"
#: A Python that everybody may run: that of the tests may be in a closed home.
PYTHON = shutil.which("python3.11", path="/usr/bin:/usr/local/bin") or sys.executable
CODE = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if "site-packages" in path)])}
#: What User=, Group= and NoNewPrivileges= do; no capability is left to be regained.
_AS_USER = ("setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups", "--no-new-privs", "--bounding-set=-all",
            "--inh-caps=-all")  # fmt: skip


def command(unit: str, **replaced: str) -> list[str]:
    """What a unit starts."""
    (words,) = commands_of(unit)
    return [PYTHON, "-m", "vetro", *(replaced.get(word, word) for word in words)]


class UnitService(Service):
    """The service as its unit starts it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.ready, self.errors = folder, folder / "data" / "ready.json", folder / "stderr"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        environment |= CODE | {"VETRO_DATA": str(folder / "data"), "HOME": str(folder / "data")}
        self.environment = environment | settings
        self.prepare(folder / "data")
        for path in (folder / "data", *(folder / "data").rglob("*")):
            shutil.chown(path, USER, "nogroup")
        words = command("vetro.service", **{"/var/lib/vetro": str(folder / "data")})
        words = words[: words.index("--config")]
        with open(self.errors, "wb") as errors:
            words = [*_AS_USER, *words, "--port", "0", "--ready-file", str(self.ready)]
            self.process = subprocess.Popen(words, env=self.environment, stderr=errors)

    def admin(self, *words: str, input: str | None = None) -> str:
        argv = [*_AS_USER, PYTHON, "-m", "vetro", "admin", *words]
        done = subprocess.run(
            argv, env=self.environment, input=input or "", capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


class Machine:
    """Both, and where the helper keeps its things."""

    def __init__(self, folder: Path) -> None:
        self.home, self.socket = folder / "helper", folder / "run" / "socket"
        self.images = real_servers().folder
        self.helper: subprocess.Popen[bytes] | None = None
        self.help()
        self.service = UnitService(folder, VETRO_CLOUD_HELPER=str(self.socket))

    def help(self) -> None:
        words = command("vetro-cloud-helper.service", vetro=USER, **{"/var/lib/vetro-cloud-helper": str(self.home)})
        place = {"VETRO_CLOUD_HELPER": str(self.socket), "VETRO_IMAGES": str(self.images)}
        environment = os.environ | CODE | place
        self.groups = Cgroups().group(f"vetro-units-{os.getpid()}")
        enter = "".join(f"echo 0 > {path}; " for path in self.groups.create())
        self.helper = subprocess.Popen(["sh", "-c", f'{enter}exec "$@"', "sh", *words], env=environment)
        wait_for(self.socket, self.helper)

    def kill_helper(self) -> None:
        """As systemd stops a unit at last: whatever is in its control group is killed."""
        assert self.helper is not None
        self.groups.kill()
        assert self.helper.wait() == -signal.SIGKILL
        self.groups.remove()

    def end(self) -> None:
        self.service.end()
        ask = "from vetro.clouds.overview import clean; from pathlib import Path; print(*clean(Path(%r)), sep='\\n')"
        argv = [*_AS_USER, PYTHON, "-c", ask % str(self.service.folder / "data" / "cloud")]
        subprocess.run(argv, env=self.service.environment, check=True, timeout=120)
        assert self.helper is not None
        self.helper.terminate()
        self.helper.wait()
        self.groups.remove()


@pytest.fixture
def machine() -> Iterator[Machine]:
    folder = Path(tempfile.mkdtemp(prefix="vetro-units-"))
    folder.chmod(0o755)
    made = Machine.__new__(Machine)  # it ends, whether or not it begins
    try:
        made.__init__(folder)  # type: ignore[misc]
        made.service.await_ready()
        yield made
    finally:
        made.end()
        left = traces(cloud_id(made.home / "nspawn"), made.home)
        shutil.rmtree(folder)
    assert not any(left.values()), left


def owners(machine: Machine) -> set[int]:
    """Users of the processes of the service."""
    pids = [machine.service.process.pid, *machine.service.everybody()]
    return {Path(f"/proc/{pid}").stat().st_uid for pid in pids}


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_the_units_make_real_servers(machine: Machine) -> None:
    place = Place(machine.service)
    place.upload()
    id = place.deploy()
    found = place.ask("GET", f"/environments/{id}")
    assert found["simulated"] is False
    assert 0 not in owners(machine), "nothing of the service is root's"
    assert {path.name for path in (place.folder / "cloud" / "nspawn").iterdir()} == {"helper.json"}
    place.until(id, "running", 60)  # the watcher reached its page, as the same user
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    (talker,) = place.ask("GET", f"/sessions/{session}/model")["services"]
    address = talker["instance"]["ipAddresses"][0]
    with urllib.request.urlopen(f"http://{address}:8080/word", timeout=10) as page:
        assert page.read() == b"hello\n"
    place.ask("DELETE", f"/sessions/{session}")

    # The helper dies: servers go on, and what was asked for meanwhile is done by the next one.
    machine.kill_helper()
    before = json.loads(next(machine.home.glob("nspawn/servers/*/running.json")).read_text())
    actions = place.ask("GET", f"/environments/{id}/actions")["items"]
    (action,) = [row["id"] for row in actions if row["name"] == "hush"]
    task = place.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}})
    time.sleep(1)
    machine.help()
    place.done(task)
    place.until(id, "down", 90)
    assert json.loads(next(machine.home.glob("nspawn/servers/*/running.json")).read_text()) == before

    (server,) = place.ask("GET", f"/environments/{id}/servers")["items"]
    console = place.ask("GET", f"/environments/{id}/servers/{server['id']}/log?source=console")
    assert "systemd" in json.dumps(console)
    wanted = json.dumps({"command": ["sh", "-c", "id -u; hostname"]}).encode()
    headers = {"X-Auth-Token": place.token, "Content-Type": "application/json"}
    at = f"/v2/environments/{id}/servers/{server['id']}/commands"
    status, events = machine.service.send("POST", at, wanted, headers)
    said = [base64.b64decode(json.loads(line[6:])["data"]) for line in events.decode().splitlines() if '"data"' in line]
    assert status == 200 and b"".join(said) == b"0\nweb\n", events
    assert b"event: exit" in events
    place.done(place.ask("DELETE", f"/environments/{id}"))
    until(lambda: not list(machine.home.glob("nspawn/servers/*")), 30)
