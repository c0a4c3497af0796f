"""What a service stands on, each in a folder of its own and restartable: `Postgres`, `Rabbit`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.faults.campaign.processes import below, kill
from tests.support import rabbitmq

_START = 90.0


class Absent(Exception):
    """A program that is needed is not on this machine."""


def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs. Raises `Absent`."""
    found = sorted(path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise Absent("PostgreSQL is missing; on Debian, as root: apt-get install postgresql")
    return found[-1]


class Postgres:
    """A PostgreSQL that listens on a socket in its folder (and ``addresses``) only. ``settings``: its environment."""

    def __init__(
        self, folder: Path, *, addresses: str = "", port: int = 5432, settings: Mapping[str, str] | None = None
    ) -> None:
        self._programs = postgres_programs()
        self.folder = folder
        self.port = port
        self._data = folder / "data"
        self._user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        self._addresses = addresses
        self._environment = {**os.environ, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        if self._user:
            shutil.chown(folder, "postgres", "postgres")
        folder.chmod(0o755)
        self._run("initdb", "-D", str(self._data), "-U", "vetro", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
                  "--no-sync")  # fmt: skip
        self.start()
        self._run("createdb", "-h", str(folder), "-p", str(port), "-U", "vetro", "vetro")

    @property
    def url(self) -> str:
        """For ``database.url``."""
        return f"postgresql://vetro@/vetro?host={self.folder}&port={self.port}"

    def pids(self) -> set[int]:
        """Its process."""
        return set() if self._process is None else {self._process.pid}

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", **self._user)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout.decode('utf-8', 'replace')}")

    def start(self) -> None:
        """Starts it and waits until it answers."""
        import psycopg

        until = time.monotonic() + _START
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-c", f"listen_addresses={self._addresses}",
                   "-c", f"unix_socket_directories={self.folder}", "-c", "max_connections=300", "-c", "fsync=off",
                   "-c", f"port={self.port}"]  # fmt: skip
        while True:
            if self._process is None or self._process.poll() is not None:
                # After a kill its memory is still in use for a moment: it ends at once and is tried again.
                with open(self.folder / "log", "ab") as log:
                    self._process = subprocess.Popen(  # type: ignore[call-overload]
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=self._environment,
                        **self._user,
                    )  # fmt: skip
            with contextlib.suppress(psycopg.Error):
                psycopg.connect(f"host={self.folder} port={self.port} user=vetro dbname=postgres").close()
                return
            if time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL does not start, see {self.folder / 'log'}")
            time.sleep(0.05)

    def restart(self) -> None:
        """As an administrator does: connections are ended (``pg_ctl restart -m fast``)."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait(_START)
        self.start()

    def crash(self) -> None:
        """All its processes are killed with -9; then it is started again."""
        assert self._process is not None
        for pid in [pid for pid, _ in below(self._process.pid)]:
            kill(pid)
        self._process.wait(_START)
        self.start()

    def stop(self) -> None:
        """Ends it."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_START)


class Rabbit:
    """A RabbitMQ on a port of 127.0.0.1 that stays the same when it is restarted."""

    def __init__(self, folder: Path) -> None:
        missing = rabbitmq.missing()
        if missing:
            raise Absent(
                f"RabbitMQ is missing ({', '.join(missing)}); on Debian, as root: apt-get install rabbitmq-server"
            )
        folder.mkdir(parents=True)
        self._folder = folder
        self.port, distribution, mapper = rabbitmq.free_ports(3)
        (folder / "rabbit.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n{rabbitmq.QUIET}")
        (folder / "plugins").write_text("[].\n")
        self._environment = rabbitmq.environment(folder, distribution, mapper)
        self._mapper = subprocess.Popen(["epmd"], env=self._environment, stdin=subprocess.DEVNULL)
        self._server: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Starts it and waits until it takes connections."""
        with open(self._folder / "out", "ab") as out:
            self._server = subprocess.Popen(
                [str(rabbitmq.PROGRAM)],
                cwd=self._folder,  # where Erlang leaves a core of its database when it is killed
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        until = time.monotonic() + _START
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as sock:
                sock.settimeout(10)
                sock.sendall(b"AMQP\0\0\x09\x01")
                if sock.recv(1):
                    return
            if self._server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"RabbitMQ does not start, see {self._folder / 'out'}")
            time.sleep(0.1)

    def crash(self) -> None:
        """Its processes are killed with -9; then it is started again."""
        self._kill()
        self.start()

    def pids(self) -> set[int]:
        """Its processes."""
        return {self._mapper.pid} | (set() if self._server is None else {self._server.pid})

    def _kill(self) -> None:
        if self._server is not None:
            for pid in [pid for pid, _ in below(self._server.pid)]:
                kill(pid)
            self._server.wait(_START)

    def stop(self) -> None:
        """Ends it and its port mapper."""
        self._kill()
        self._mapper.terminate()
        self._mapper.wait()
