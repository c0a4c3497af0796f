"""Stopping and starting real servers, and what comes back after the machine was started again.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_health_real import TALKER, Place
from tests.server.servekit import Service, alive
from tests.support.pace import Pace
from tests.support.servers import real_servers, traces
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean

pytestmark = pytest.mark.campaign

#: Seconds (of a machine that does nothing else, `Pace`) within which all that should run does again, and seconds within
#: which an action on what does not run ends.
BACK, SOON = 60.0, 10.0


def settings() -> dict[str, str]:
    return {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(real_servers().folder)}


@pytest.fixture
def places(tmp_path: Path) -> Iterator[list[Place]]:
    """A service; whoever starts it again adds it."""
    service = Service(tmp_path, **settings())
    cloud, made = tmp_path / "data" / "cloud", [Place.__new__(Place)]
    try:
        service.await_ready()
        made[0].__init__(service)  # type: ignore[misc]
        yield made
    finally:
        for place in made:
            if place.service.process.poll() is None:
                place.service.end()
        service.end()
        collections.deque(clean(cloud), maxlen=0)
    assert not any(traces(cloud_id(cloud / "nspawn"), tmp_path).values()), "cleaning left something behind"


def deploy(place: Place, name: str) -> str:
    """An environment of two servers: ``web`` uses ``db``."""
    id = place.ask("POST", "/environments", {"name": name})["id"]
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    model = place.ask("GET", f"/sessions/{session}/model")
    services = []
    for number, own in enumerate(("web", "db")):
        server = {"?": {"id": str(number) * 32, "type": "io.murano.resources.LinuxMuranoInstance"}, "name": own}
        server |= {"flavor": "m1.small", "image": "debian-12-murano"}
        services.append({"?": {"id": own * 8, "type": "test.Talker", "name": own}, "instance": server})
    services[0]["uses"] = "db" * 8
    place.ask("PUT", f"/sessions/{session}/model", {**model, "services": services})
    place.done(place.ask("POST", f"/sessions/{session}/deploy"))
    return str(id)


def running(place: Place) -> dict[str, bool]:
    """Which servers of the whole cloud have living processes: 'environment name' of each."""
    found = {}
    for folder in (place.folder / "cloud" / "nspawn" / "servers").iterdir():
        spec = json.loads((folder / "server.json").read_text())
        with contextlib.suppress(FileNotFoundError):
            pids = json.loads((folder / "running.json").read_text())
            found[f"{spec['owner']['environment']} {spec['name']}"] = all(alive(pid) for pid, *_ in pids.values())
            continue
        found[f"{spec['owner']['environment']} {spec['name']}"] = False
    return found


def failed(place: Place, id: str, component: str) -> tuple[float, str]:
    """Seconds until the action of a component failed, and what it said."""
    rows = place.ask("GET", f"/environments/{id}/actions")["items"]
    (action,) = [row["id"] for row in rows if row["name"] == "talk" and row["object_id"] == component * 8]
    begun = time.monotonic()
    task = place.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}})
    while not (found := place.ask("GET", f"/tasks/{task['id']}"))["final"]:
        assert time.monotonic() - begun < 60, found
        time.sleep(0.1)
    assert found["state"] == "failed", found
    return time.monotonic() - begun, found["error"]["message"]


def pull_the_plug(place: Place) -> None:
    """Everything of the service and of its cloud ends at once; namespaces and interfaces are gone, as after a start of
    the machine."""
    service, cloud = place.service, cloud_id(place.folder / "cloud" / "nspawn")
    for pid in [service.process.pid, *service.everybody()]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    service.process.wait(30)
    # Not all the way down: what others have there comes and goes.
    top = Path("/sys/fs/cgroup")
    for groups in (top / f"vetro-{cloud}", *top.glob(f"*/vetro-{cloud}")):
        for _ in range(100):
            pids = [int(pid) for file in groups.rglob("cgroup.procs") for pid in file.read_text().split()]
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not pids:
                break
            time.sleep(0.05)
    for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.splitlines():
        if cloud in line.split()[0]:
            subprocess.run(["ip", "netns", "del", line.split()[0]], check=True)
    end = time.monotonic() + 30  # the kernel takes their interfaces away a moment later
    while any(cloud in link.name for link in Path("/sys/class/net").iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)
    service.ready.unlink()


@pytest.mark.timeout(900)
def test_what_should_run_comes_back_in_order_and_what_was_stopped_stays_stopped(places: list[Place]) -> None:
    (place,) = places
    place.upload()
    both, none = deploy(place, "both"), deploy(place, "none")
    assert list(running(place).values()) == [True] * 4

    place.done(place.ask("POST", f"/environments/{none}/stop"))
    place.done(place.ask("POST", f"/environments/{both}/stop", {"what": "db"}))
    wanted = {f"{both} web": True, f"{both} db": False, f"{none} web": False, f"{none} db": False}
    assert running(place) == wanted
    place.until(none, "stopped", 60, "was stopped by admin")
    took, said = failed(place, none, "web")
    print(f"an action on a stopped server ended after {took:.1f} s: {said}")
    assert took < SOON and "server 'web' is switched off" in said
    place.done(place.ask("POST", f"/environments/{both}/start"))
    wanted[f"{both} db"] = True
    assert running(place) == wanted

    pull_the_plug(place)
    assert not any(running(place).values())
    pace = Pace()
    service = Service(place.service.folder, **settings())
    service.await_ready()
    again = Place(service)
    places.append(again)
    while running(again) != wanted:
        assert pace.seconds < BACK, (str(pace), running(again), service.errors.read_text()[-3000:])
        time.sleep(0.25)
    print(f"everything that should run does {pace} after the start of serve")
    tasks = [task for task in again.ask("GET", f"/tasks?environment={both}")["items"] if task["kind"] == "power"]
    again.done(tasks[0])
    log = [line["text"] for line in again.ask("GET", f"/tasks/{tasks[0]['id']}/log")["items"]]
    assert log == ["Server db was started", "Server web was started"], "in order, each once"
    time.sleep(15)  # longer than between two looks at all servers
    rows: list[Any] = again.ask("GET", f"/tasks?environment={both}")["items"]
    assert len([task for task in rows if task["kind"] == "power"]) == len(tasks), "nothing is started twice"
    assert running(again) == wanted
    again.until(none, "stopped", 30)

    # Dead by itself, later: that is told, and an action on it says so.
    (folder,) = [
        path for path in (again.folder / "cloud" / "nspawn" / "servers").iterdir()
        if (spec := json.loads((path / "server.json").read_text()))["name"] == "web"
        and spec["owner"]["environment"] == both
    ]  # fmt: skip
    for pid, *_ in json.loads((folder / "running.json").read_text()).values():
        os.kill(pid, signal.SIGKILL)
    took, said = failed(again, both, "web")
    print(f"an action on a dead server ended after {took:.1f} s: {said}")
    assert took < SOON and "has ended by itself" in said


#: What it does before its server stops and after it has started.
CAREFUL = (
    TALKER
    + """\
  flush:
    Meta: {l:Power: {on: stop}}
    Body:
      - conf:Linux.runCommand($.instance.agent, 'test -e /srv/say/broken && exit 7; date >> /srv/say/flushed', 'Flush')
  warm:
    Meta: {l:Power: {on: start}}
    Body:
      - conf:Linux.runCommand($.instance.agent, 'cat /srv/say/flushed > /srv/say/warm', 'Warm')
  crack:
    Scope: Public
    Body:
      - conf:Linux.runCommand($.instance.agent, 'cat /srv/say/warm && touch /srv/say/broken', 'Crack')
"""
)


@pytest.mark.timeout(600)
def test_methods_of_a_component_are_called_on_its_server(places: list[Place]) -> None:
    (place,) = places
    place.upload(CAREFUL)
    id = place.deploy()
    for action in ("stop", "start"):
        begun = time.monotonic()
        place.done(place.ask("POST", f"/environments/{id}/{action}"))
        print(f"{action} with its methods took {time.monotonic() - begun:.1f} s")
    place.act(id, "crack")  # what was flushed before the stop warmed it after the start
    failed = place.ask("POST", f"/environments/{id}/stop")
    while not (found := place.ask("GET", f"/tasks/{failed['id']}"))["final"]:
        time.sleep(0.25)
    assert found["state"] == "failed" and "method 'flush' of 'talker' failed" in found["error"]["message"]
    assert all(running(place).values())
    place.done(place.ask("POST", f"/environments/{id}/stop", {"force": True}))
    assert not any(running(place).values())
