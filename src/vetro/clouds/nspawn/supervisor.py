"""The process that stays beside one nspawn server: mounts its disk, starts it, keeps its console log small, tidies up.

A program of its own (`python -I -S supervisor.py FOLDER`) that uses the standard library only, so that it is small and
does not depend on the process that started it. It runs in a mount namespace of its own: the server's mounts end with
it and the host never sees them. ``FOLDER/launch.json`` says what to do (`Launch`); it writes ``running.json`` (who
runs), ``console.log`` and, at the end, ``ended.json``: ``{"status": …, "at": …}`` or ``{"error": …, "at": …}``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any, TypedDict

#: The console log is turned over at half of this.
CONSOLE_BYTES = 4 << 20
#: The descriptor that holds the machine's mount namespace.
MACHINE = 9
#: The layer of a disk that the tree was put into, and the file that tells which layers were mounted last.
BOTTOM, LAYERS = "upper", "layers.json"
#: How the disk of a type is made, and what it is mounted with besides. In btrfs data and its own trees share their room
#: (-M): apart, a disk that data has filled has none left for a way back. What a guest writes is checksummed, and
#: compressed where it wants that, by threads of the kernel that nobody is charged for: there is one of them a disk.
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-M", "-m", "single", "-d", "single"],
}
OPTIONS = {"ext4": "", "btrfs": ",noatime,thread_pool=1"}
#: systemd-nspawn ends so when the guest wants to be started anew.
REBOOT = 133


class Nic(TypedDict):
    """One end on a bridge of the project's network namespace, the other in the guest."""

    namespace: str
    port: str
    guest: str
    mac: str
    bridge: str


class Layers(TypedDict, total=False):
    """What ``launch.json`` holds of a server whose disk has layers (`vetro.clouds.nspawn.snapshots`)."""

    #: Names of layers from the bottom to the one that is written to; missing: there is one.
    uppers: list[str]
    #: Layers of each snapshot (of btrfs the one subvolume), which stay although the server has others now.
    snapshots: dict[str, list[str]]
    #: Layers to be merged into the one at the bottom, in this order.
    merge: list[str]


class Subvolumes(Layers, total=False):
    """What ``launch.json`` holds of a server whose disk is btrfs (`vetro.clouds.nspawn.subvolumes`)."""

    #: The file system of the disk file; missing: ext4.
    disk_type: str
    #: The subvolume that is written to; missing: the first one.
    live: str
    #: What a subvolume is a copy of that may not be made yet.
    sources: dict[str, str]


class Volume(TypedDict):
    """A data volume; see `vetro.clouds.nspawn.volumes`."""

    #: Name of its device in the server, without '/dev/'.
    name: str
    #: What people call it.
    title: str
    #: The file that holds it.
    image: str
    #: The first id of owners on it.
    base: int
    read_only: bool


class Launch(Subvolumes):
    """What ``launch.json`` holds."""

    #: Missing: none.
    volumes: list[Volume]

    #: The tree of the image, and the owner of its root.
    lower: str
    image_uid: int
    #: Owner of the guest's root on this machine.
    uid: int
    #: GiB of the disk file; 0: no disk file, the upper layer is a plain folder (no limit).
    disk_gib: int
    #: Files to write a process number into, so that it enters the server's control group.
    enter: list[str]
    #: Folders of that group, to be removed at the end.
    groups: list[str]
    argv: list[str]
    nics: list[Nic]


def write_json(path: str, data: Any) -> None:
    """Writes a file that is there as a whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(data, file)
    os.replace(path + ".new", path)


def wire(nics: list[Nic], leader: int, where: list[str]) -> None:
    """Connects a guest's interfaces to their bridges; those that are connected already are left alone.

    ``where``: words in front of `ip` that lead to where the machine's network namespaces can be seen.
    """
    for nic in nics:
        ip = [*where, "ip", "-n", nic["namespace"], "link"]
        if subprocess.run([*ip, "show", "dev", nic["port"]], capture_output=True).returncode != 0:
            veth = [*ip, "add", nic["port"], "type", "veth", "peer", "name", nic["guest"]]
            _tool([*veth, "address", nic["mac"], "netns", str(leader)])
        _tool([*ip, "set", nic["port"], "master", nic["bridge"]])
        # A bridge that learns keeps every sender's address for minutes, in memory that no guest is charged for.
        _tool([*ip, "set", nic["port"], "type", "bridge_slave", "learning", "off"])
        known = ["fdb", "replace", nic["mac"], "dev", nic["port"], "master", "static"]
        _tool([*where, "bridge", "-n", nic["namespace"], *known])
        _tool([*ip, "set", nic["port"], "up"])


def started(pid: int) -> int:
    """When a process began, in clock ticks; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def boot() -> str:
    """Which start of the machine this is: after another one, numbers and times of processes come again."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def leader_of(nspawn: int) -> int | None:
    """The guest's first process, once it is in its own namespaces; None while it is not."""
    try:
        with open(f"/proc/{nspawn}/task/{nspawn}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/status", encoding="utf-8", errors="replace") as file:
                numbers = next(line.split()[1:] for line in file if line.startswith("NSpid:"))
            own = os.stat(f"/proc/{child}/ns/net").st_ino != os.stat("/proc/self/ns/net").st_ino
            if own and len(numbers) > 1 and numbers[-1] == "1":
                return int(child)
    except (OSError, StopIteration):
        pass
    return None


def end_group(folders: list[str]) -> None:
    """Ends every process in these control groups and removes them."""
    deadline = time.monotonic() + 60
    for folder in folders:
        for name, word in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
            # What stands still for a snapshot would not end.
            if os.path.exists(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(word)
        # No process forks any more: whoever forks faster than we kill would win.
        if os.path.exists(os.path.join(folder, "pids.max")):
            with open(os.path.join(folder, "pids.max"), "w", encoding="ascii") as file:
                file.write("0")
    while time.monotonic() < deadline:
        left = False
        for folder in folders:
            for at, _, files in os.walk(folder, topdown=False):
                if "cgroup.procs" not in files:
                    continue
                try:
                    with open(os.path.join(at, "cgroup.procs"), encoding="ascii") as file:
                        pids = file.read().split()
                    for pid in pids:
                        if pid != "0":  # one that is not seen from here; a signal would go to our own group
                            os.kill(int(pid), signal.SIGKILL)
                    if not pids:
                        os.rmdir(at)
                except OSError:
                    pass
            left = left or os.path.isdir(folder)
        if not left:
            return
        time.sleep(0.01)


class Console:
    """Appends to ``console.log`` and keeps it small, whatever the guest writes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - as long as the process

    def write(self, data: bytes) -> None:
        """Appends; drops the older half when it is full."""
        try:
            if self._file.tell() + len(data) > CONSOLE_BYTES // 2:
                os.replace(self._path, self._path + ".1")
                self._file.close()
                self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
            self._file.write(data)
        except OSError:
            pass  # a full disk of the host must not stop the guest


def _tool(argv: list[str], at: str = "/") -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", cwd=at)
    if done.returncode != 0:
        raise OSError(f"'{' '.join(argv[:5])}' ended with status {done.returncode}: {done.stderr.strip()[-500:]}")


def _mount(folder: str, launch: Launch) -> None:
    _tool(["mount", "--make-rprivate", "/"])
    disk = os.path.join(folder, "disk")
    os.makedirs(disk, mode=0o700, exist_ok=True)
    kind = launch.get("disk_type") or "ext4"
    if launch["disk_gib"]:
        image = os.path.join(folder, "disk.img")
        if not os.path.exists(image):
            with open(image + ".new", "wb") as file:
                file.truncate(launch["disk_gib"] << 30)
            _tool([*MAKE[kind], image + ".new"])
            os.replace(image + ".new", image)
        _tool(["mount", "-t", kind, "-o", f"loop,nosuid,nodev{OPTIONS[kind]}", image, disk])
    bottom = BOTTOM
    if kind == "btrfs":
        _tool(_program("subvolumes.py", folder))
        live = launch.get("live") or "live.1"
        bottom = os.path.join(live, BOTTOM)
        os.makedirs(os.path.join(disk, live, "work"), exist_ok=True)
    upper, root = (os.path.join(disk, name) for name in (bottom, "root"))
    if not os.path.exists(os.path.join(disk, "filled")):
        os.makedirs(upper, exist_ok=True)
        _tool(["cp", "-a", os.path.join(folder, "tree") + "/.", upper])
        os.chown(upper, launch["uid"], launch["uid"])
        os.chmod(upper, 0o755)
        os.makedirs(root, exist_ok=True)
        os.close(os.open(os.path.join(disk, "filled"), os.O_CREAT | os.O_WRONLY, 0o600))
    lower = launch["lower"]
    if launch["uid"] != launch["image_uid"]:
        lower = os.path.join(disk, "image")
        os.makedirs(lower, exist_ok=True)
        words = [launch["lower"], str(launch["image_uid"]), str(launch["uid"]), lower]
        _tool(_program("idmap.py", *words))
    layers = [bottom] if kind == "btrfs" else _layers(folder, disk, lower, launch)
    # Names as the disk has them: of paths the kernel takes a page at most.
    options = f"lowerdir={':'.join([*layers[-2::-1], lower])},upperdir={layers[-1]},workdir={_work(layers[-1])}"
    _tool(["mount", "-t", "overlay", "overlay", "-o", options, root], disk)
    if launch.get("volumes"):
        _tool(_program("volumes.py", "mount", folder))


def _layers(folder: str, disk: str, lower: str, launch: Launch) -> list[str]:
    """The layers of the disk from the bottom to the one that is written to, as they are now wanted."""
    wanted = launch.get("uppers") or [BOTTOM]
    merged = launch.get("merge") or []
    try:
        if any(os.path.isdir(os.path.join(disk, name)) for name in merged):
            _tool(_program("layers.py", lower, BOTTOM, *merged), disk)
    except OSError as error:  # as many as there are do, too
        sys.stderr.write(f"layers were not merged: {error}\n")
    known = {*wanted, *(name for names in (launch.get("snapshots") or {}).values() for name in names)}
    for name in sorted(os.listdir(disk)):
        # First of all: a disk that the undone has filled has room again.
        if name.startswith((BOTTOM, "work")) and name.replace("work", BOTTOM, 1) not in known:
            _tool(["rm", "-rf", "--one-file-system", "--", os.path.join(disk, name)])
    there = [name for name in wanted[:-1] if os.path.isdir(os.path.join(disk, name))]
    top = os.path.join(disk, wanted[-1])
    if not os.path.isdir(top):
        below = os.stat(os.path.join(disk, there[-1]))
        fresh = os.path.join(disk, "fresh")
        os.makedirs(fresh, exist_ok=True)
        os.chown(fresh, below.st_uid, below.st_gid)
        os.chmod(fresh, below.st_mode & 0o7777)
        os.rename(fresh, top)
    os.makedirs(os.path.join(disk, _work(wanted[-1])), exist_ok=True)
    write_json(os.path.join(folder, LAYERS), {"of": wanted, "layers": [*there, wanted[-1]]})
    return [*there, wanted[-1]]


def _work(layer: str) -> str:
    """The folder that the kernel needs beside a layer that is written to."""
    return layer.replace(BOTTOM, "work", 1)


def _program(name: str, *words: str) -> list[str]:
    return [sys.executable, "-I", "-S", os.path.join(os.path.dirname(os.path.abspath(__file__)), name), *words]


def _start(folder: str, launch: Launch) -> subprocess.Popen[bytes]:
    def enter() -> None:
        for path in launch["enter"]:
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write(str(os.getpid()))
            except OSError:
                pass  # a controller that takes nobody; nspawn says so where it matters

    binds = []
    for volume in launch.get("volumes") or ():
        source = os.path.join(folder, "volumes", volume["name"]).replace("\\", "\\\\").replace(":", "\\:")
        binds.append(f"--bind={source}:/run/vetro-volumes/{volume['name']}")
    # One thread here, so code between fork and exec is safe.
    return subprocess.Popen(
        [*launch["argv"], *binds],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=enter,
        start_new_session=True,
    )


def _watch(child: subprocess.Popen[bytes], launch: Launch, console: Console) -> int:
    assert child.stdout is not None
    out = child.stdout.fileno()
    handle = os.pidfd_open(child.pid)
    poller = select.poll()
    poller.register(out, select.POLLIN)
    poller.register(handle, select.POLLIN)
    wired = not launch["nics"]
    try:
        while True:
            events = poller.poll(None if wired else 5)
            if not wired:
                leader = leader_of(child.pid)
                if leader is not None:
                    # We keep mounts to ourselves, so we see no namespace that was made after us; the machine does.
                    wire(launch["nics"], leader, ["nsenter", f"--mount=/proc/{os.getpid()}/fd/{MACHINE}"])
                    wired = True
            for source, _ in events:
                if source == out:
                    data = os.read(out, 1 << 16)
                    console.write(data)
                    if not data:
                        poller.unregister(out)
                elif source == handle:
                    return child.wait()
    finally:
        os.close(handle)
        child.stdout.close()


def keep(folder: str) -> None:
    """Runs the server until it ends."""
    console = Console(os.path.join(folder, "console.log"))
    ended: dict[str, Any] = {}
    groups: list[str] = []
    try:
        mounted = False
        while True:
            with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
                launch: Launch = json.load(file)
            groups = launch["groups"]
            if not mounted:
                _mount(folder, launch)
                mounted = True
            child = _start(folder, launch)
            who = {name: [pid, started(pid), boot()] for name, pid in (("keeper", os.getpid()), ("nspawn", child.pid))}
            write_json(os.path.join(folder, "running.json"), who)
            status = _watch(child, launch, console)
            if status != REBOOT:
                ended = {"status": status}
                return
    except Exception as error:
        ended = {"error": str(error)}
        console.write(f"vetro: {error}\n".encode())
    finally:
        end_group(groups)
        write_json(os.path.join(folder, "ended.json"), {**ended, "at": time.time()})


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    keep(sys.argv[1])
