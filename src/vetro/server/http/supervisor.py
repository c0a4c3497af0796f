"""`serve`: one command starts the HTTP server and workers, looks after them, and ends them.

The process that stays here starts others and waits; it holds neither Django nor a database. Its children are killed
by the kernel when it is, so nothing is left of a service that was killed.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vetro.server.config import address
from vetro.server.config.address import RUN
from vetro.server.config.config import Config, ConfigError, make_data
from vetro.server.http.processes import GRACE, PARENT, Child
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.serve")
#: Seconds until the service must answer. One that ends is told at once; a busy machine only takes long.
_START = 300.0
#: How the C library keeps memory.
_MEMORY = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
#: Seconds for workers to give back their tasks, beyond those that the tasks get.
_SLACK = 4.0


class ServeError(VetroError):
    """The service cannot start."""

    kind = "error"
    code = "SRV541"


def serve(config: Config, ready_file: Path | None = None, say: Callable[[str], None] = print) -> int:
    """Runs the service until SIGTERM or SIGINT; 0 then. ``say`` gets what a person at the terminal wants to know.

    ``ready_file`` gets ``{url, pid}`` once the service answers, in one piece. Raises `ServeError` and errors of
    settings; the children are gone then.
    """
    stop = threading.Event()
    children: list[Child] = []

    def signalled(*_: object) -> None:
        if stop.is_set():  # a second one: workers hand back what runs at once
            for child in children:
                child.ask_to_stop()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signalled)
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)
    with _reserved(config) as port:
        config = config.changed({"server.port": port})
        folder = _run_folder(config)
        environment = {
            **os.environ,
            **config.as_environment(),
            RUN: str(folder),
            "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
            "PYTHONUNBUFFERED": "1",
            # Each thread would keep memory of its own for itself, and large blocks would stay when they are free.
            **{name: os.environ.get(name, value) for name, value in _MEMORY.items()},
        }
        try:
            link = _prepare(environment, say)
            say(f"starting the service (workers: {config['worker.embedded']}) …")
            children += _children(config, environment)
            try:
                return _run(config, children, stop, link, ready_file, say, folder)
            finally:
                _stop(children, folder, max(GRACE, float(config["worker.drain_seconds"])) + _SLACK)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if ready_file is not None:
                ready_file.unlink(missing_ok=True)


def _children(config: Config, environment: dict[str, str]) -> list[Child]:
    children = [Child("HTTP server", ["-m", "vetro.server.http.server"], environment)]
    children.append(Child("process for large requests", ["-m", "vetro.server.http.large_process"], environment))
    for number in range(int(config["worker.embedded"])):
        children.append(Child(f"worker {number + 1}", ["-m", "vetro.cli.main", "worker"], environment))
    return children


def _run(
    config: Config,
    children: list[Child],
    stop: threading.Event,
    link: str | None,
    ready_file: Path | None,
    say: Callable[[str], None],
    folder: Path,
) -> int:
    for child in children:
        child.start()
    _await_answer(config, children[0], stop)
    url = address.url_of(config)
    if not stop.is_set():
        say(f"Vetro answers at {url} (data in {config.data})")
        if link is not None:
            say(f"First login, once and within a day: {url}/app/link/{link}")
        for file in (folder / address.FILE, ready_file):
            if file is not None:
                _write(file, {"url": url, "pid": os.getpid(), "port": int(config["server.port"])})
    while not stop.wait(0.5):
        for child in children:
            child.look()
    say("stopping")
    return 0


def _stop(children: list[Child], folder: Path, seconds: float) -> None:
    """Ends all children: asks, waits for so long, kills."""
    (folder / "stopping").touch()
    for child in children:
        child.ask_to_stop()
    until = time.monotonic() + seconds
    for child in children:
        child.wait(until)


def _prepare(environment: dict[str, str], say: Callable[[str], None]) -> str | None:
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.server.http.startup"],
        env={**environment, PARENT: str(os.getpid())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    answer: dict[str, Any] = {}
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                answer = {}
                continue
            if "says" in answer:
                say(answer["says"])
    if not answer.keys() & {"error", "link"}:
        raise ServeError(f"preparing the installation failed (exit status {process.returncode})")
    if "error" in answer:
        error = ServeError(answer["error"])
        error.hint = answer["hint"]
        raise error
    link: str | None = answer["link"]
    return link


def _await_answer(config: Config, server: Child, stop: threading.Event) -> None:
    """Waits until the service answers. Raises `ServeError` when it ends before or takes too long."""
    until = time.monotonic() + _START
    while not stop.wait(0.02):
        status = server.ended()
        if status is not None:
            raise ServeError(f"the HTTP server ended at once (exit status {status}); the lines above say why")
        connection = http.client.HTTPConnection(address.reachable(config), int(config["server.port"]), timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        if time.monotonic() > until:
            raise ServeError(f"the HTTP server does not answer within {_START:.0f} s")


class _reserved:
    """A port that nobody else takes before the HTTP server has it: bound, not listening, with SO_REUSEPORT."""

    def __init__(self, config: Config) -> None:
        self._host, self._port = str(config["server.host"]), int(config["server.port"])
        self._socket: socket.socket | None = None

    def __enter__(self) -> int:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except OSError as error:
            raise ConfigError(f"'server.host': '{self._host}' is no address of this machine: {error}") from None
        try:
            if self._port:
                # Without SO_REUSEPORT, so that a service that runs there already is in the way.
                with socket.socket(family, kind, protocol) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(address)
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._socket.bind(address)
        except OSError as error:
            if self._socket is not None:
                self._socket.close()
            problem = ServeError(f"cannot listen on {self._host} port {self._port}: {error.strerror}")
            problem.hint = "--port 0 takes a free one"
            raise problem from None
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()


def _run_folder(config: Config) -> Path:
    """A folder for files of this run; those of runs that were killed are removed."""
    make_data(config)
    base = config.data / "run"
    try:
        base.mkdir(exist_ok=True)
        folder = base / str(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "metrics").mkdir(parents=True)
    except OSError as error:
        problem = ServeError(f"the data directory {config.data} cannot be written: {error.strerror}")
        problem.hint = "--data names another one"
        raise problem from None
    for old in base.iterdir():
        if old.name.isdigit() and not Path("/proc", old.name).exists():
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _write(path: Path, data: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(data) + "\n", encoding="utf-8")
    draft.replace(path)
