"""`vetro serve` as a process: starts, answers, looks after its children, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.servekit import NewService, Service, alive, children_of
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def start(*options: str, kind: type[Service] = Service, **settings: str) -> Service:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(kind(folder, *options, **settings))
        return made[-1]

    yield start
    for service in made:
        if service.process.poll() is None:
            service.process.kill()
        service.process.wait()


@pytest.mark.campaign
def test_the_cloud_and_why_it_was_chosen_are_told_first(serve: Callable[..., Service], tmp_path: Path) -> None:
    """Without an image nothing can be real; what would change that is said, too. `vetro doctor` says the same."""
    service = serve(VETRO_IMAGES=str(tmp_path / "no images"))
    service.await_ready()
    told, *others = service.errors.read_text().splitlines()
    start = "cloud: record - nothing is executed, everything is written down (no nspawn: "
    assert told.startswith(start) and "; no proot: " in told and told.partition(")")[2], told
    if os.geteuid() == 0 and "no nspawn: there is no image yet" in told:
        assert told.endswith("; 'vetro image build debian-12' makes servers real")
    assert any(line.startswith("Vetro answers at") for line in others)
    command = [sys.executable, "-m", "vetro.cli.main", "doctor"]
    doctor = subprocess.run(command, env=service.environment, text=True, stdout=subprocess.PIPE, timeout=180).stdout
    assert doctor.count(told) == 1, doctor


@pytest.mark.campaign  # two starts; by SIGTERM each installation of tests/cli ends so
def test_one_command_starts_everything_and_no_process_stays_after_sigterm_or_sigkill(
    serve: Callable[..., Service],
) -> None:
    service = serve(kind=NewService)
    ready = service.await_ready()
    assert ready["pid"] == service.process.pid
    said = service.errors.read_text()
    lines = said.splitlines()
    assert lines[0].startswith("cloud: ") and lines[1] == "making the database …", "told before it takes its time"
    assert f"Vetro answers at {ready['url']}" in said
    link = re.search(r"First login.*/app/link/(vetro_\S+)", said)
    assert link is not None
    token = service.admin("token", "create", "admin", "-o", "value")
    assert service.get("/v1/catalog/categories", **{"X-Auth-Token": token})[0] == 200
    assert service.get("/v1/catalog/categories", **{"X-Auth-Token": link.group(1)})[0] == 401
    until(lambda: service.get("/ready")[0] == 200)
    assert b"vetro_workers 1.0" in service.get("/metrics")[1]
    children = service.everybody()
    assert len(children) >= 3
    # Ctrl-C at a terminal reaches the service alone, which ends the others: a second signal would hurry the workers.
    assert [os.getpgid(child) for child in children_of(service.process.pid)] == children_of(service.process.pid)
    began = time.monotonic()
    service.process.terminate()
    assert service.process.wait(30) == 0
    assert time.monotonic() - began < 15
    until(lambda: not any(map(alive, children)), 5)
    assert not service.ready.exists()
    assert list((service.folder / "data" / "run").iterdir()) == []
    # The second start finds what the first one made, and prints no link. Killed, it leaves no process either.
    again = Service(service.folder)
    try:
        again.await_ready()
        assert again.get("/v1/catalog/categories", **{"X-Auth-Token": token})[0] == 200
        assert "First login" not in again.errors.read_text()
        until(lambda: again.get("/ready")[0] == 200)
        children = again.everybody()
        assert len(children) >= 3
    finally:
        again.process.kill()
        again.process.wait()
    until(lambda: not any(map(alive, children)), 10)


@pytest.mark.campaign
def test_children_that_die_are_started_again(serve: Callable[..., Service]) -> None:
    service = serve("--workers", "0")
    service.await_ready()
    children = set(children_of(service.process.pid))
    assert len(children) == 2  # the HTTP server, and the process for large requests
    for child in children:
        os.kill(child, signal.SIGKILL)

    def back() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            now = set(children_of(service.process.pid))
            return len(now) == 2 and not now & children and service.get("/health")[0] == 200
        return False

    until(back, 60)
    for name in ("HTTP server", "process for large requests"):
        assert f"{name} ended (killed by SIGKILL)" in service.errors.read_text()


def refusal(service: Service) -> str:
    """What a service that cannot start says."""
    assert service.process.wait(60) == 1
    said = service.errors.read_text()
    assert "Traceback" not in said and not service.ready.exists()
    return said


def test_without_its_database_it_does_not_start_and_says_why(serve: Callable[..., Service]) -> None:
    said = refusal(serve("--database", "postgresql://vetro:hunter2@127.0.0.1:9/none"))
    assert "cannot be prepared" in said and "hunter2" not in said


@pytest.mark.campaign
def test_what_cannot_start_says_why(serve: Callable[..., Service], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert "cannot listen on 127.0.0.1 port" in refusal(serve("--port", str(other.getsockname()[1])))
    (tmp_path / "rules.yaml").write_text('a: ""\nget_package: "nonsense"\n')
    broken = serve(VETRO_ACCOUNTS__POLICY_FILE=str(tmp_path / "rules.yaml"))
    assert f"{tmp_path / 'rules.yaml'}:2: rule 'get_package'" in refusal(broken)
    readonly = serve("--data", "/proc/1")
    assert readonly.process.wait(60) == 1
    assert "data directory /proc/1 cannot be" in readonly.errors.read_text()
