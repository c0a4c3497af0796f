"""`KIND`: clouds whose servers are folders of this machine with a process in namespaces of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.base import ConfigResult, DriverError, ServerStatus, Signal
from vetro.clouds.drivers.processes import Process, process
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.interface import NotAvailable, Owner
from vetro.clouds.kind_protocols import Capabilities, Lack, Place
from vetro.clouds.messages import Channel
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.settings import StackSettings

#: Runs in the server's namespaces; $1: its folder, $2: its name.
_INIT = """
hostname "$2"
for part in root srv; do mkdir -p "/$part"; mount --bind "$1/tree/$part" "/$part" || exit 1; done
[ -e "$1/done" ] || { sh "$1/user-data" >> "$1/console" 2>&1; : > "$1/done"; }
sleep infinity & wait
"""


class ToyDriver:
    """Implements `vetro.clouds.drivers.base.ServerDriver`. Whatever it makes is in ``directory``."""

    name = "toy"
    executes = True

    def __init__(self, directory: Path) -> None:
        self._servers = directory.resolve() / "toy" / "servers"
        self._servers.mkdir(parents=True, exist_ok=True)
        self._networks, self._groups = (spec_files.Table(directory / "toy" / name) for name in ("networks", "groups"))

    # -- servers -------------------------------------------------------------------------------------------------------

    def create(self, spec: ServerSpec) -> None:
        self._refuse_volumes(spec)
        folder = self._folder(spec.id)
        if not (folder / "server.json").exists():
            for part in ("root", "srv"):
                (folder / "tree" / part).mkdir(parents=True, exist_ok=True)
            (folder / "user-data").write_text(spec.user_data, "utf-8")
            spec_files.save_server(folder / "server.json", spec)
        self.start(spec.id)

    def update(self, spec: ServerSpec) -> None:
        self._refuse_volumes(spec)
        spec_files.save_server(self._known(spec.id) / "server.json", spec)

    def start(self, server: str) -> None:
        folder = self._known(server)
        spec = spec_files.load_server(folder / "server.json")
        assert spec is not None
        with open(folder / "lock", "ab") as lock:
            while not _taken(lock):
                if self._processes(folder):
                    return
                time.sleep(0.01)  # what was killed has not ended yet, or somebody looks
            as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
            words = ["unshare", *as_root, "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", _INIT]
            # Whatever runs in the server has the lock open: it is free when, and only when, all of that has ended.
            subprocess.run(
                ["setsid", "--fork", *words, "toy", str(folder), spec.hostname],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock.fileno()],
                check=True,
            )

    def stop(self, server: str) -> None:
        folder = self._folder(server)
        if folder.exists():
            with open(folder / "lock", "ab") as lock:
                while not _taken(lock):
                    for found in self._processes(folder):
                        found.kill()  # and with it, all that runs in the server
                    time.sleep(0.01)

    def delete(self, server: str) -> None:
        self.stop(server)
        shutil.rmtree(self._folder(server), ignore_errors=True)

    def statuses(self, servers: Collection[str]) -> Mapping[str, ServerStatus]:
        folders = {server: self._folder(server) for server in servers}
        return {
            server: "ACTIVE" if self._runs(folder) else "SHUTOFF"
            for server, folder in folders.items()
            if (folder / "server.json").exists()
        }

    def console(self, server: str, lines: int = 200) -> str:
        file = self._known(server) / "console"
        return "\n".join(file.read_text("utf-8", "replace").splitlines()[-lines:]) if file.exists() else ""

    def put_file(self, server: str, path: str, data: bytes, mode: int = 0o644) -> None:
        file = self._inside(server, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)

    def get_file(self, server: str, path: str) -> bytes:
        file = self._inside(server, path)
        if not file.is_file():
            raise DriverError(f"the server has no file {path}")
        return file.read_bytes()

    def configure(self, server: str, config: ConfigSpec) -> ConfigResult:
        raise DriverError(f"the configuration '{config.name}' cannot be applied: toys take none")

    def signal_command(self, handle: str) -> str:
        return "false"

    def signals(self, handle: str, servers: Collection[str]) -> Sequence[Signal]:
        return ()

    def channel(self, owner: Owner) -> Channel:
        raise NotAvailable("agents on toys are not reached")

    # -- what servers need: written down only --------------------------------------------------------------------------

    def ensure_network(self, network: NetworkSpec) -> None:
        self._networks.put(network.id, network)

    def taken(self) -> Sequence[str]:
        return ()

    def delete_network(self, network: str) -> None:
        self._networks.remove(network)

    def ensure_group(self, group: GroupSpec) -> None:
        self._groups.put(group.id, group)

    def delete_group(self, group: str) -> None:
        self._groups.remove(group)

    def ensure_volume(self, volume: VolumeSpec) -> None:
        raise DriverError("toys have no volumes")

    def delete_volume(self, volume: str) -> None:
        return

    # -- the whole -----------------------------------------------------------------------------------------------------

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        return list(self._swept(servers, networks))

    def clear(self) -> Sequence[str]:
        return self.sweep((), ())

    def close(self) -> None:
        return

    def _swept(self, servers: Container[str], networks: Container[str]) -> Iterator[str]:
        for folder in sorted(self._servers.iterdir()):
            if folder.name not in servers:
                self.delete(folder.name)
                yield f"server {folder.name}"
        for network in spec_files.networks(self._networks):
            if network.id not in networks:
                self.delete_network(network.id)
                yield f"network {network.id}"

    def _folder(self, server: str) -> Path:
        if not server or "/" in server or server.startswith("."):
            raise DriverError(f"'{server}' is no id of a server")
        return self._servers / server

    def _known(self, server: str) -> Path:
        folder = self._folder(server)
        if not (folder / "server.json").exists():
            raise DriverError(f"there is no server {server}")
        return folder

    def _inside(self, server: str, path: str) -> Path:
        tree = self._known(server) / "tree"
        file = (tree / path.lstrip("/")).resolve()
        if not path.startswith("/") or not file.is_relative_to(tree):
            raise DriverError(f"'{path}' is no absolute path of a file in the server")
        return file

    @staticmethod
    def _refuse_volumes(spec: ServerSpec) -> None:
        if spec.volumes:
            raise DriverError("toys have no volumes")

    @staticmethod
    def _runs(folder: Path) -> bool:
        with open(folder / "lock", "ab") as lock:
            return not _taken(lock, fcntl.LOCK_SH)

    @staticmethod
    def _processes(folder: Path) -> list[Process]:
        """What keeps a server. No file says it, so that nobody can die between making it and writing it down."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] in (b"setsid", b"unshare", b"sh") and os.fsencode(folder) in words:
                found.append(process(int(entry.name)))
        return [one for one in found if one is not None]


def _taken(lock: IO[bytes], how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class ToyKind(DriverKind[StackSettings]):
    """Implements `vetro.clouds.kind_protocols.CloudKind`."""

    name = "toy"
    title = "servers are folders with a process, and nothing keeps them in"
    settings = StackSettings

    def driver(self, settings: StackSettings, place: Place) -> ToyDriver:
        return ToyDriver(place.directory)

    def capabilities(self, settings: StackSettings) -> Capabilities:
        return Capabilities(executes=True, walls="none", agents="none", machines="host", quota=True, power=True)

    def lacks(self, settings: StackSettings, place: Place) -> Lack | None:
        return None if shutil.which("unshare") else Lack("there is no unshare", "apt-get install util-linux")


KIND = ToyKind()
