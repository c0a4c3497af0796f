"""What a service could only write down is made real on nspawn servers, without another start of the service.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_health_real import Place
from tests.acceptance.test_power_real import running
from tests.server.servekit import Service
from tests.support.needs import need
from tests.support.servers import real_servers, traces
from tests.support.waiting import until
from vetro.clouds.drivers.tools import which
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean, overview

pytestmark = pytest.mark.campaign


class AtTerminal(Service):
    """Started by somebody at a terminal, who presses Enter at the question for the image."""

    def launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        mine, its = os.openpty()
        try:
            process = subprocess.Popen(command, env=self.environment, stdin=its, stdout=its, stderr=its)
        finally:
            os.close(its)
        self.person = threading.Thread(target=self._answer, args=(mine,), daemon=True)
        self.person.start()
        return process

    def _answer(self, terminal: int) -> None:
        with open(self.errors, "wb", buffering=0) as errors, contextlib.suppress(OSError):  # nobody is there any more
            answered = False
            while data := os.read(terminal, 4096):
                errors.write(data)
                if not answered and b"Build the image" in self.errors.read_bytes():
                    answered = os.write(terminal, b"\n") == 1
        os.close(terminal)


class Machine:
    """A machine without an image, and the service on it, which may be started several times."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.images = folder, folder / "images"
        self.built = real_servers().folder
        (folder / "nothing").mkdir()
        self.images.symlink_to(folder / "nothing")
        self.places: list[Place] = []

    def serve(self, kind: type[Service] = Service, *options: str) -> Place:
        service = kind(self.folder, *options, VETRO_IMAGES=str(self.images))
        self.places.append(place := Place.__new__(Place))
        place.service = service  # it ends, whether or not it begins
        service.await_ready()
        place.__init__(service)  # type: ignore[misc]
        return place

    def build(self) -> None:
        """The image is there, as if it had been built now."""
        (self.folder / "link").symlink_to(self.built)
        (self.folder / "link").rename(self.images)

    def end(self) -> None:
        for place in self.places:
            if place.service.process.poll() is None:
                place.service.end()
        with contextlib.suppress(FileNotFoundError), open(self.images / ".building") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a build goes on without its service, and holds this to its end


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made, cloud = Machine(tmp_path), tmp_path / "data" / "cloud"
    try:
        yield made
    finally:
        made.end()
        collections.deque(clean(cloud), maxlen=0)
    assert not any(traces(cloud_id(cloud / "nspawn"), tmp_path).values()), "cleaning left something behind"


def sent(place: Place, id: str) -> tuple[int, Any]:
    """What the service answers to 'make this real'."""
    path, headers = f"/v2/environments/{id}/realize", {"X-Auth-Token": place.token, "Content-Type": "application/json"}
    status, answer = place.service.send("POST", path, b"", headers)
    return status, json.loads(answer)


def address(place: Place, id: str) -> str:
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    try:
        (talker,) = place.ask("GET", f"/sessions/{session}/model")["services"]
    finally:
        place.ask("DELETE", f"/sessions/{session}")
    return str(talker["instance"]["ipAddresses"][0])


def stacks(place: Place) -> list[str]:
    return [stack["environment"] for stack in overview(place.folder / "cloud").stacks]


@pytest.mark.timeout(600)
def test_written_down_first_then_real(machine: Machine) -> None:
    place = machine.serve()
    assert "there is no image yet" in place.service.errors.read_text()
    place.upload()
    id = place.deploy()
    assert place.ask("GET", f"/environments/{id}")["simulated"] is True and stacks(place) == [id]
    status, refused = sent(place, id)
    assert status == 409 and "vetro image build debian-12" in json.dumps(refused), refused
    assert stacks(place) == [id] and not (place.folder / "cloud" / "nspawn").exists()

    machine.build()
    status, task = sent(place, id)
    assert status == 202, task
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False, "from the first moment on"
    assert sent(place, id)[0] in (403, 409), "sent twice"
    # Everything dies in the middle of it; who starts again finds it at work.
    for pid in [place.service.process.pid, *place.service.everybody()]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    place.service.process.wait(30)
    place.service.ready.unlink()
    place = machine.serve()
    place.done(task)
    assert running(place) == {f"{id} web": True} and stacks(place) == [id]
    until(lambda: place.ask("GET", f"/environments/{id}")["health"], 60)
    place.until(id, "running", 60)
    with urllib.request.urlopen(f"http://{address(place, id)}:8080/word", timeout=10) as page:
        assert page.read() == b"hello\n"
    assert sent(place, id)[0] == 409
    place.again(id)
    place.done(place.ask("DELETE", f"/environments/{id}"))
    assert stacks(place) == [] and running(place) == {}


@pytest.mark.timeout(1500)
def test_a_command_has_the_image_built_and_all_of_it_made_real(machine: Machine) -> None:
    """The real build, from the machine's package sources, on a service without an image."""
    need(None if which("mmdebstrap") else "mmdebstrap")
    place = machine.serve()
    place.upload()
    id = place.deploy()
    assert place.ask("GET", f"/environments/{id}")["simulated"] is True
    found = place.ask("GET", "/images/build")
    assert found["wanted"] is True and found["kind"] == "nspawn"
    url = json.loads(place.service.ready.read_text())["url"]

    def vetro(*words: str, input: str = "") -> str:
        given = {**os.environ, "XDG_CONFIG_HOME": str(machine.folder / "config")}
        argv = [sys.executable, "-m", "vetro", *words]
        done = subprocess.run(argv, env=given, input=input, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stderr
        return done.stderr

    vetro("login", url, "--token-stdin", input=place.token)
    said = vetro("env", "realize", "talk")
    assert "it is built now" in said and "installing" in said, said
    assert place.ask("GET", "/images/build")["build"]["state"] == "done"
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False and running(place) == {f"{id} web": True}
    with urllib.request.urlopen(f"http://{address(place, id)}:8080/word", timeout=10) as page:
        assert page.read() == b"hello\n"
    place.done(place.ask("DELETE", f"/environments/{id}"))


@pytest.mark.timeout(1500)
def test_enter_at_the_first_start_builds_the_image_and_servers_are_real(machine: Machine) -> None:
    need(None if which("mmdebstrap") else "mmdebstrap")
    place = machine.serve(AtTerminal)
    place.upload()
    said = place.service.errors.read_text()
    assert "so that servers are real? [Y/n]" in said and "is built beside the service" in said
    until(lambda: place.ask("GET", "/images/build")["build"]["state"] != "running", 1200)
    assert place.ask("GET", "/images/build")["build"]["state"] == "done"
    id = place.deploy()
    assert place.ask("GET", f"/environments/{id}")["simulated"] is False and running(place) == {f"{id} web": True}
    with urllib.request.urlopen(f"http://{address(place, id)}:8080/word", timeout=10) as page:
        assert page.read() == b"hello\n"
    place.done(place.ask("DELETE", f"/environments/{id}"))
    # Nothing is asked, nor built, where there is one.
    assert place.service.end() == 0 and not place.service.ready.exists()
    said = machine.serve(Service, "--build-image").service.errors.read_text()
    assert "no image is built: there is one already" in said
