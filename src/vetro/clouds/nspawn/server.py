"""One nspawn server on this machine: its folder, its processes, its control group."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

from vetro import file_lock
from vetro.clouds.drivers.base import DriverError, ServerStatus
from vetro.clouds.drivers.errors import GuestCommandFailed, HostFailed, ServerBootFailed
from vetro.clouds.drivers.processes import Process, process
from vetro.clouds.drivers.spec_files import digest, load, load_server, save
from vetro.clouds.drivers.specs import NicSpec, ServerSpec
from vetro.clouds.drivers.tools import run
from vetro.clouds.guest.console_text import plain_lines
from vetro.clouds.guest.exec import Output, collect, entering
from vetro.clouds.guest.files import read_small
from vetro.clouds.guest.first_files import AGENT, SEED, SOCKET
from vetro.clouds.guest.running_command import CommandEntry, open_terminal
from vetro.clouds.images.shift import RANGE
from vetro.clouds.images.store import Image, delete_tree
from vetro.clouds.nspawn import disks, links, namespaces, subvolumes, supervisor, volumes
from vetro.clouds.nspawn.cgroups import Cgroup, Cgroups
from vetro.clouds.nspawn.registry import PROPAGATE

#: systemd as the first process of a guest takes this as "power off".
_POWER_OFF = signal.SIGRTMIN + 4


class NspawnServer:
    """The server whose folder is ``folder``; the folder's name is the server's id."""

    def __init__(self, folder: Path, cloud: str) -> None:
        self.folder = folder
        self.id = folder.name
        self.cloud = cloud
        #: Name of the machine, the control group and (with a letter in front) of lock files.
        self.machine = f"{cloud}{digest(self.id, 7)}"
        self._cgroups = Cgroups()

    @property
    def cgroup(self) -> Cgroup:
        """Its control group."""
        return self._cgroups.group(f"vetro-{self.cloud}", self.machine)

    def spec(self) -> ServerSpec | None:
        """What it was made from; None when there is no such server."""
        return load_server(self.folder / "server.json")

    # -- state ---------------------------------------------------------------------------------------------------------

    def _running(self, which: str) -> Process | None:
        data = load(self.folder / "running.json")
        numbers = data.get(which) if isinstance(data, dict) else None
        found = Process(*numbers) if numbers else None  # those of earlier versions name no boot
        return found if found is not None and found.alive() else None

    def leader(self) -> int | None:
        """The guest's first process, as this machine numbers it; None when it does not run."""
        nspawn = self._running("nspawn")
        return supervisor.leader_of(nspawn.pid) if nspawn is not None else None

    def alive(self) -> bool:
        """Whether it runs, is looked after, and is where this version of Vetro has servers."""
        return self._running("nspawn") is not None and self._running("keeper") is not None and not self.outdated()

    def outdated(self) -> bool:
        """Whether an earlier version made it, with its interfaces on this machine itself: its next start moves it."""
        launch = load(self.folder / "launch.json")
        return isinstance(launch, dict) and any("namespace" not in nic for nic in launch["nics"])

    def status(self) -> ServerStatus | None:
        """Its state; None when there is no such server."""
        if not (self.folder / "server.json").exists():
            return None
        if self.alive():
            return "ACTIVE"
        ended = load(self.folder / "ended.json")
        if load(self.folder / "wanted.json") == "SHUTOFF" or (ended or {}).get("status") == 0:
            return "SHUTOFF"
        return "ERROR"

    def why(self) -> str:
        """Why it does not run, with the last lines of its console."""
        if self.outdated():
            return "an earlier version of Vetro ran it, and 'vetro cloud start' starts it again"
        ended = load(self.folder / "ended.json") or {}
        if "error" in ended:
            return str(ended["error"])
        reason = f"it ended with status {ended['status']}" if "status" in ended else "it was killed"
        tail = " | ".join(self.console(4).splitlines())
        return f"{reason}; its console ends with: {tail}" if tail else reason

    def phase(self) -> str:
        """How far its boot helper is: '' (not begun), broken, network, scripts, done, failed. Written by the guest."""
        leader = self.leader()
        data = read_small(f"/proc/{leader}/root", "/run/vetro-boot.json") if leader is not None else None
        try:
            return str(json.loads(data or b"{}").get("phase", ""))
        except (ValueError, AttributeError, RecursionError):
            return ""

    def console(self, lines: int) -> str:
        """The end of its console without control characters."""
        text = b""
        for name in ("console.log.1", "console.log"):
            with suppress(FileNotFoundError):  # the supervisor turns it over at any moment
                text += (self.folder / name).read_bytes()
        return plain_lines(text, lines)

    # -- life ----------------------------------------------------------------------------------------------------------

    def prepare(
        self,
        spec: ServerSpec,
        image: Image,
        uid: int,
        nics: Sequence[supervisor.Nic],
        socket: Path | None,
        agent: Path | None,
        attached: Sequence[supervisor.Volume] = (),
    ) -> None:
        """Writes what the supervisor needs to start it. The seed and the tree are there already."""
        root = self.folder / "disk" / "root"
        argv = [
            "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--settings=no", "--boot",
            f"--private-users={uid}:{RANGE}", "--private-network", "--console=read-only",
            "--resolv-conf=off", "--timezone=off", "--link-journal=no",
            f"--machine={self.machine}", f"--hostname={spec.hostname}", f"--directory={root}",
            _bind(self.folder / "seed", SEED),
        ]  # fmt: skip
        if socket is not None:
            argv.append(_bind(socket, SOCKET))
        if agent is not None:
            argv.append(_bind(agent, AGENT))
        launch: supervisor.Launch = {
            "lower": _layer(image.shifted),
            "image_uid": image.uid,
            "uid": uid,
            "disk_gib": disks.size(spec.flavor),
            "disk_type": disks.type_of_new(),
            "enter": [],
            "groups": [],
            "argv": argv,
            "nics": list(nics),
            "volumes": list(attached),
        }
        save(self.folder / "launch.json", launch)

    def start(self, timeout: float) -> None:
        """Starts it and waits until its network is set. Raises `ServerBootFailed` with what is known."""
        with self._starting():
            self._start(timeout)

    def end_unless_starting(self) -> bool:
        """`end`, unless a process is starting it now; whether it was ended."""
        try:
            with self._starting(wait=False):
                if not self.alive():
                    self.power_off() if self.outdated() else self.end()
                    return True
        except (BlockingIOError, FileNotFoundError):
            pass  # it is starting, or somebody removed it meanwhile
        return False

    @contextmanager
    def _starting(self, *, wait: bool = True) -> Iterator[None]:
        """Held while it is started. Raises `BlockingIOError` when somebody else does and ``wait`` is false."""
        with file_lock.exclusive(self.folder / "start.lock", wait=wait):
            yield

    def _start(self, timeout: float) -> None:
        spec = self.spec()
        launch = load(self.folder / "launch.json")
        if spec is None or launch is None:
            raise ServerBootFailed(f"there is no server {self.id} on this machine")
        self.end()  # what a killed supervisor left
        launch["enter"] = self.cgroup.create()
        launch["groups"] = [str(path) for path in self.cgroup.folders()]
        save(self.folder / "launch.json", launch)
        self.cgroup.limit(memory_mib=int(spec.flavor.get("ram") or 0), cpus=float(spec.flavor.get("vcpus") or 0))
        for name in ("running.json", "ended.json"):
            (self.folder / name).unlink(missing_ok=True)
        save(self.folder / "wanted.json", "ACTIVE")
        groups = self._cgroups.group(f"vetro-{self.cloud}", "keepers").create()
        # The supervisor gets a session and a control group of its own: it outlives us and whatever we are stopped with.
        # 0 is who writes: in a shell of a shell, $$ would be the outer one.
        step_in = "".join(f"echo 0 > {_quoted(path)} 2>/dev/null; " for path in groups)
        program = ["unshare", "--mount", "--propagation", "private", sys.executable, "-I", "-S"]
        words = " ".join(_quoted(word) for word in [*program, str(supervisor.__file__), str(self.folder)])
        log, mounts = _quoted(str(self.folder / "keeper.log")), f"{supervisor.MACHINE}</proc/self/ns/mnt"
        run(["setsid", "sh", "-c", f"({step_in}exec {words}) </dev/null >{log} 2>&1 {mounts} &"])
        self._await_network(spec, timeout)

    def _await_network(self, spec: ServerSpec, timeout: float) -> None:
        end = time.monotonic() + timeout
        while (phase := self.phase()) in ("", "broken"):
            if phase == "broken":
                tail = " | ".join(self.console(8).splitlines())
                self.end()
                raise ServerBootFailed(f"the network of the server '{spec.name}' could not be set: {tail}")
            if (self.folder / "ended.json").exists():
                raise ServerBootFailed(f"the server '{spec.name}' did not start: {self.why()}")
            log = self.folder / "keeper.log"
            if time.monotonic() > end:
                said = log.read_text("utf-8", "replace")[-300:] if log.exists() else ""
                tail = " | ".join((said + "\n" + self.console(6)).split("\n"))
                self.end()
                raise ServerBootFailed(f"the server '{spec.name}' did not come up within {timeout:g} s: {tail}")
            time.sleep(0.02)  # the guest tells nobody; it is looked at

    def stop(self, timeout: float = 20) -> None:
        """Asks it to power off, then makes it."""
        if not (self.folder / "server.json").exists():
            return
        save(self.folder / "wanted.json", "SHUTOFF")
        self.power_off(timeout)

    def power_off(self, timeout: float = 20) -> None:
        """As `stop`, but as somebody who wants it to run again."""
        leader, nspawn = self.leader(), self._running("nspawn")
        if leader is not None and nspawn is not None:
            first = process(leader)
            if first is not None and first.signal(_POWER_OFF):
                nspawn.wait(timeout)
        self.end()
        if load(self.folder / "wanted.json") != "SHUTOFF":
            (self.folder / "ended.json").unlink(missing_ok=True)  # nobody switched it off on purpose

    def end(self) -> None:
        """Ends all its processes at once and removes what holds them. Raises `HostFailed` when something stays."""
        watcher = self._running("keeper")
        self.cgroup.kill()
        if watcher is not None:
            if not watcher.wait(30):
                watcher.kill()
                watcher.wait(5)
            self.cgroup.kill()
        self.cgroup.remove()
        place = PROPAGATE / self.machine
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)

    def delete(self) -> None:
        """Ends it and removes its folder with its files."""
        self.end()
        spec = self.spec()
        if spec is not None:
            self._disconnect(spec, spec.nics)
        # The record goes last: what a crash leaves is found by it.
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "server.json":
                delete_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        delete_tree(self.folder)

    def _disconnect(self, spec: ServerSpec, nics: Sequence[NicSpec]) -> None:
        name = namespaces.name_of(self.cloud, spec.owner.project)
        for nic in nics if namespaces.exists(name) else ():
            links.remove_inside(name, links.port_name(nic.port_id))

    def arrange_disk(self, *words: str) -> float | None:
        """Makes and removes subvolumes of its disk as ``launch.json`` says; the seconds for which it stood still.

        None where it does not run: its next start does it. Raises `HostFailed`.
        """
        process = self._running("keeper")
        if process is None:
            return None
        # In a session of its own: who ends us must not leave a server that stands still.
        program = [sys.executable, "-I", "-S", str(subvolumes.__file__), str(self.folder), *words]
        said = run(["setsid", "--wait", "nsenter", f"--mount=/proc/{process.pid}/ns/mnt", *program])
        return float(said)

    # -- inside --------------------------------------------------------------------------------------------------------

    def execute(
        self, command: Sequence[str], *, input: bytes = b"", timeout: float = 60, env: Mapping[str, str] | None = None
    ) -> Output:
        """Runs a command as the guest's root. Raises `GuestCommandFailed` when it does not run or takes too long."""
        _, words = self._into(command, env or {})
        try:
            return collect(words, input=input, timeout=timeout, what=f"'{command[0]}' in the server {self.id}")
        except GuestCommandFailed:
            if not self.alive():
                raise GuestCommandFailed(f"the server {self.id} stopped meanwhile: {self.why()}") from None
            raise

    def entry(self, command: Sequence[str], terminal: bool) -> CommandEntry:
        """How a command gets into it, with a terminal of its own if it wants one. Raises `GuestCommandFailed`."""
        leader, words = self._into(command, {"TERM": "xterm-256color"} if terminal else {})
        if not terminal:
            return CommandEntry(words)
        return CommandEntry(words, open_terminal(f"/proc/{leader}/root", int(load(self.folder / "launch.json")["uid"])))

    def _into(self, command: Sequence[str], env: Mapping[str, str]) -> tuple[int, list[str]]:
        """Its first process, and the words that run a command in it. Raises `GuestCommandFailed`."""
        leader = self.leader()
        if leader is None:
            spec = self.spec()
            raise GuestCommandFailed(f"the server '{spec.name if spec else self.id}' does not run: {self.why()}")
        launch = load(self.folder / "launch.json") or {}
        return leader, entering(leader, self._inner(launch), command, env)

    def _inner(self, launch: Mapping[str, Any]) -> list[str]:
        """Control groups to enter: in version 2 a group with groups below takes no process, so the guest's init's."""
        found: list[str] = []
        for path in launch.get("enter", []):
            folder = os.path.dirname(path)
            inner = os.path.join(folder, "payload", "init.scope", "cgroup.procs")
            found.append(inner if os.path.exists(inner) else path)
        return found

    def attach(self, wanted: Sequence[supervisor.Volume]) -> bool:
        """Has these data volumes, at once where it runs. Whether it has to be started again, since it lost some."""
        launch = load(self.folder / "launch.json")
        before, after = ({one["name"]: one["image"] for one in some} for some in (launch.get("volumes") or (), wanted))
        save(self.folder / "launch.json", {**launch, "volumes": list(wanted)})
        if not self.alive():
            return False
        if any(after.get(name) != image for name, image in before.items()):
            return True
        try:
            for name in after:
                made = self.execute(["mkdir", "-p", f"{volumes.PLACE}/{name}"])
                if made.code != 0:
                    said = made.stderr.decode("utf-8", "replace").strip()[-300:]
                    raise HostFailed(f"the server {self.id} has no place for a volume: {said}")
                self._volume("attach", name, str(self.leader()))
        except DriverError:
            save(self.folder / "launch.json", launch)
            raise
        return False

    def _volume(self, *words: str) -> None:
        process = self._running("keeper")
        assert process is not None
        program = [sys.executable, "-I", "-S", str(volumes.__file__), words[0], str(self.folder), *words[1:]]
        run(["nsenter", f"--mount=/proc/{process.pid}/ns/mnt", *program])

    def rewire(self, nics: Sequence[supervisor.Nic], gone: Sequence[NicSpec]) -> None:
        """Connects further interfaces and takes others away, while it runs or for its next start."""
        launch = load(self.folder / "launch.json")
        launch["nics"] = list(nics)
        launch.setdefault("image_uid", launch["uid"])  # as earlier versions had it: one range for all
        save(self.folder / "launch.json", launch)
        spec = self.spec()
        if spec is not None:
            self._disconnect(spec, gone)
        leader = self.leader()
        if leader is not None:
            try:
                supervisor.wire(list(nics), leader, [])
            except OSError as error:
                raise HostFailed(f"an interface cannot be added: {error}") from None


def _bind(source: Path, target: str) -> str:
    escaped = str(source).replace("\\", "\\\\").replace(":", "\\:")
    return f"--bind-ro={escaped}:{target}"


def _layer(path: Path) -> str:
    text = str(path)
    if any(c in text for c in ",:\\"):
        error = HostFailed(f"the folder of images has a comma, colon or backslash in its name: {text}")
        error.hint = "choose another one with VETRO_IMAGES"
        raise error
    return text


def _quoted(word: str) -> str:
    return quote(word)
