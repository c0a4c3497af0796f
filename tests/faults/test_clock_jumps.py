"""A service whose machine's clock jumps, by an hour and by a year, forwards and back, in the middle of its work."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.campaign.backing import Absent, Postgres
from tests.faults.moved_clock import MovedClock
from tests.faults.server_orders import CHAIN
from tests.faults.test_server_serve import User
from tests.faults.world import World
from tests.server.servekit import Service
from tests.server.tasks import shop
from tests.support.needs import need
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.attack("data", "clock jumps")]
HOUR, YEAR = 3600, 366 * 86_400
JUMPS = (HOUR, 0, -HOUR, 0, YEAR, 0, -YEAR, 0)


class Machine:
    """A service and a worker of its own on one machine with a clock that the test moves."""

    def __init__(self, folder: Path, clock: MovedClock, **more: str) -> None:
        self.clock = clock
        self.world = World(folder / "world.db")
        (folder / "data").mkdir()
        (folder / "data" / "vetro.toml").write_text(
            f'[cloud]\nkind = "tests.faults.server_cloud:make"\nsettings = {{path = "{folder / "world.db"}"}}\n'
            "[worker]\nlease_seconds = 5.0\n"
        )
        settings = {**self.clock.settings, "PYTHONPATH": str(Path(__file__).parents[2]), **more}
        self.service = Service(folder, **settings)
        self.service.await_ready(120)
        self.user = User(self.service)
        self.user._token = self.service.admin("token", "create", "admin", "--days", "0", "-o", "value")
        self.worker = subprocess.Popen(
            [sys.executable, "-m", "vetro.cli.main", "worker"],
            env=self.service.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.user.upload(shop.archive({"Classes/Shop.yaml": CHAIN}))

    def end(self) -> None:
        self.worker.terminate()
        self.worker.wait(60)
        self.service.end()
        self.world.close()

    def deployment(self, title: str, steps: int) -> str:
        """The path of an environment that is being deployed."""
        environment = self.user.post("/v1/environments", {"name": title})["id"]
        session = self.user.post(f"/v1/environments/{environment}/configure")["id"]
        instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"{title}-server"},
                    "name": "web", "image": "i", "flavor": "f"}  # fmt: skip
        app = {"?": {"type": "test.Shop", "id": f"{title}-app"}, "title": title, "steps": steps, "instance": instance}
        self.user.post(f"/v1/environments/{environment}/services", app, **{"X-Configuration-Session": session})
        self.user.post(f"/v1/environments/{environment}/sessions/{session}/deploy")
        return f"/v1/environments/{environment}"

    def status(self, where: str) -> Any:
        return self.user.send("GET", where)["status"]

    def steps(self, title: str) -> list[str]:
        return [name for name in self.world.done("run") if name.startswith(f"{title} ")]


#: Whose clock jumps: the machine's with its database; not that of a database elsewhere; also that of PostgreSQL.
@pytest.fixture(params=["sqlite", "postgresql elsewhere", "postgresql"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    with ExitStack() as stack:
        readable = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vetro-clock-")))
        readable.chmod(0o755)  # PostgreSQL runs as another user
        clock, more = MovedClock(readable), {}
        if request.param != "sqlite":
            moved = clock.settings if request.param == "postgresql" else None
            try:
                postgres = Postgres(readable / "postgres", settings=moved)
            except Absent as error:
                need(str(error))
                raise
            stack.callback(postgres.stop)
            more = {"VETRO_DATABASE__URL": postgres.url}
        made = Machine(tmp_path, clock, **more)
        stack.callback(made.end)
        yield made


def deployed_across(machine: Machine, title: str, jumps: Sequence[int], apart: int = 3) -> None:
    """A deployment goes on while the clock jumps after each few of its steps: it ends, everything done once."""
    count = apart * (len(jumps) + 2)
    where = machine.deployment(title, count)
    for number, jump in enumerate(jumps):
        wanted = apart * (number + 1)
        until(lambda wanted=wanted: len(machine.steps(title)) >= wanted or machine.status(where) != "deploying", 100)
        machine.clock.set(jump)
    until(lambda: machine.status(where) != "deploying", 100)
    told = machine.user.send("GET", f"{where}/deployments")["deployments"][0]
    assert machine.status(where) == "ready", [
        report["text"] for report in machine.user.send("GET", f"{where}/deployments/{told['id']}")["reports"]
    ][-3:]
    assert machine.steps(title) == [f"{title} {number}" for number in range(count)]


@pytest.mark.campaign
def test_a_deployment_goes_on(machine: Machine) -> None:
    deployed_across(machine, "all", JUMPS)
    assert "Traceback" not in machine.service.errors.read_text()
