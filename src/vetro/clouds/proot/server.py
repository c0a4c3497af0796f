"""One proot server: a copy of the image's tree, and the processes that proot leads in it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from vetro.clouds.drivers.base import DriverError, ServerStatus
from vetro.clouds.drivers.errors import GuestCommandFailed, HostFailed, ServerBootFailed
from vetro.clouds.drivers.processes import Process, process, this_boot
from vetro.clouds.drivers.spec_files import load, load_server, save
from vetro.clouds.drivers.specs import ServerSpec
from vetro.clouds.drivers.tools import run
from vetro.clouds.guest.boot import MARK
from vetro.clouds.guest.command_process import STATUS
from vetro.clouds.guest.console_text import LARGEST_LOG, plain_lines
from vetro.clouds.guest.exec import LARGEST_OUTPUT, Output, guest_environment
from vetro.clouds.guest.files import read_end, read_small
from vetro.clouds.guest.first_files import AGENT, SEED, SOCKET
from vetro.clouds.guest.running_command import CommandEntry
from vetro.clouds.images.store import delete_tree
from vetro.clouds.proot import systemctl
from vetro.clouds.proot.systemctl import STATE

#: Where a command that is executed finds the folder for its exit status.
_EXEC = "/run/vetro-exec"
#: Does the user data, or in a server that ran before starts its services; then keeps proot alive for the daemons.
_FIRST = f"""\
[ ! -e {MARK} ] || again=1
rm -rf {STATE}-before; [ ! -d {STATE} ] || mv {STATE} {STATE}-before
python3 -I {SEED}/boot.py boot
[ -z "${{again:-}}" ] || /usr/local/sbin/systemctl start-enabled
exec sleep infinity
"""
#: Copies $1 to $3, by way of $2, of which a part may be there.
_COPY = """\
[ ! -d "$3" ] || exit 0
[ ! -d "$2" ] || { chmod -R u+rwX "$2"; rm -rf "$2"; }
cp -a --reflink=auto "$1" "$2" && mv -T "$2" "$3"
"""
#: Where servers see their volumes, by the name of the device.
_VOLUMES = "/run/vetro-volumes"
#: Nothing can be mounted: a folder of /etc/fstab that is to be a volume becomes a link to it.
_MOUNT = f"""\
#!/bin/sh
source=$(while read -r what where rest; do [ "$where" != "$1" ] || echo "$what"; done < /etc/fstab)
case $#$source in
1{_VOLUMES}/*) if [ -d "$1" ]; then rmdir "$1"; fi && exec ln -sT "$source" "$1" ;;
*) exec /usr/bin/mount "$@" ;;
esac
"""
#: The kernel's name is that of this machine.
_HOSTNAME = """\
#!/bin/sh
[ $# != 0 ] || exec cat /etc/hostname
exec /usr/bin/hostname "$@"
"""


class ProotServer:
    """The server whose folder is ``folder``; the folder's name is the server's id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name
        self.root = folder / "root"

    def spec(self) -> ServerSpec | None:
        """What it was made from; None when there is no such server."""
        return load_server(self.folder / "server.json")

    def first(self) -> Process | None:
        """Its first process; None when it does not run."""
        data = load(self.folder / "running.json")
        found = None if data is None else Process(*data)
        return found if found is not None and found.alive() else None

    def alive(self) -> bool:
        """Whether its first process runs."""
        return self.first() is not None

    def status(self) -> ServerStatus | None:
        """Its state; None when there is no such server."""
        if not (self.folder / "server.json").exists():
            return None
        if self.alive():
            return "ACTIVE"
        return "SHUTOFF" if load(self.folder / "wanted.json") == "SHUTOFF" else "ERROR"

    def console(self, lines: int) -> str:
        """The end of what its first process printed."""
        return plain_lines(read_end(str(self.folder / "console.log"), LARGEST_LOG), lines)

    # -- life ----------------------------------------------------------------------------------------------------------

    def words(self, command: Sequence[str], env: Mapping[str, str], more: Sequence[str] = ()) -> list[str]:
        """The command line that runs ``command`` in the server; ``more`` are further folders that it sees."""
        volumes = [f"{path}:{_VOLUMES}/{name}" for name, path in (load(self.folder / "volumes.json") or {}).items()]
        binds = [*(load(self.folder / "binds.json") or []), *volumes, *more]
        shared = ["/proc", "/sys", "/dev", "/etc/resolv.conf"]
        options = [word for bind in [*shared, *binds] for word in ("-b", bind)]
        return [
            "proot",
            "-0",
            "-r",
            str(self.root),
            *options,
            "-w",
            "/",
            "/usr/bin/env",
            "-i",
            *guest_environment(env),
            *command,
        ]

    def bind(self, socket: Path | None, agent: Path | None) -> None:
        """Notes which folders of this machine it sees."""
        binds = [f"{self.folder / 'seed'}:{SEED}"]
        if socket is not None:
            binds.append(f"{socket}:{SOCKET}")
        if agent is not None:
            binds.append(f"{agent}:{AGENT}")
        save(self.folder / "binds.json", binds)

    def attach(self, volumes: Mapping[str, Path]) -> bool:
        """Notes by device which volumes it sees from its next start on; whether these are others than before."""
        wanted = {name: str(path) for name, path in volumes.items()}
        changed = wanted != (load(self.folder / "volumes.json") or {})
        if changed:
            save(self.folder / "volumes.json", wanted)
        return changed

    def start(self, environment: Mapping[str, str]) -> None:
        """Starts its first process. Raises `ServerBootFailed`."""
        self.end()
        (self.root / "run/vetro-boot.json").unlink(missing_ok=True)
        save(self.folder / "wanted.json", "ACTIVE")
        words = self.words(["sh", "-c", _FIRST], environment)
        pid = self.folder / "pid"
        pid.unlink(missing_ok=True)
        log = self.folder / "console.log"
        script = 'echo $$ > "$1"; log="$2"; shift 2; exec "$@" </dev/null >>"$log" 2>&1'
        # A session of its own: it outlives us.
        run(["sh", "-c", 'setsid sh -c "$0" sh "$@" >/dev/null 2>&1 &', script, str(pid), str(log), *words])
        end = time.monotonic() + 30
        first: Process | None = None
        booted = False
        # Both are waited for: a busy machine may show the first process only after its user data has run.
        while first is None or not booted:
            booted = booted or bool(read_small(str(self.root), "/run/vetro-boot.json"))
            if pid.exists() and (text := pid.read_text("ascii").strip()):
                if (found := process(int(text))) is None:
                    raise ServerBootFailed(f"the server '{self.id}' did not start: {self.console(3)}")
                if found != first:
                    save(self.folder / "running.json", [found.pid, found.started, this_boot()])
                first = found
            if time.monotonic() > end:
                self.end()
                raise ServerBootFailed(f"the server '{self.id}' did not start within 30 s: {self.console(3)}")
            if first is None or not booted:
                time.sleep(0.02)

    def stop(self) -> None:
        """Ends its processes; its files stay."""
        if (self.folder / "server.json").exists():
            save(self.folder / "wanted.json", "SHUTOFF")
            self.end()

    def end(self, timeout: float = 10) -> None:
        """Ends all its processes. Those that proot leads go first: without it they would go on outside."""
        end = time.monotonic() + timeout
        while leaders := self._leaders():
            led = _led_by(leaders)
            for pid in led:
                _kill(pid)
            if not led:
                for pid in leaders:
                    _kill(pid)
            if time.monotonic() > end:
                raise HostFailed(f"processes {sorted(leaders)} of the server {self.id} do not end")
            time.sleep(0.02)
        (self.folder / "running.json").unlink(missing_ok=True)

    def take_snapshot(self, name: str) -> None:
        """Copies its files; it is stopped for that. Nothing when there is a copy of this name."""
        if self._snapshot(name).is_dir():
            return
        self.end()
        self._snapshot(name).parent.mkdir(exist_ok=True, mode=0o700)
        copy_tree(self.root, self._snapshot(name))

    def revert(self, name: str) -> None:
        """Stops it and makes its files those of a copy. Raises `DriverError` where there is none."""
        if not self._snapshot(name).is_dir():
            raise DriverError(f"the server {self.id} has no snapshot {name}")
        self.stop()
        undone = self.folder / "undone"
        delete_tree(undone)
        if self.root.is_dir():
            self.root.rename(undone)
        copy_tree(self._snapshot(name), self.root)
        delete_tree(undone)

    def drop_snapshot(self, name: str) -> None:
        """Removes a copy, also what a disk that was full, or a death, left of one."""
        _await_copy(self._snapshot(name))
        delete_tree(self._snapshot(name))
        delete_tree(_partial(self._snapshot(name)))

    def _snapshot(self, name: str) -> Path:
        return self.folder / "snapshots" / name

    def delete(self) -> None:
        """Ends it and removes its folder."""
        self.end()
        for copied in (self.root, self._snapshot("any")):
            _await_copy(copied)
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "server.json":
                delete_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        delete_tree(self.folder)

    def execute(self, command: Sequence[str], *, input: bytes = b"", timeout: float = 60) -> Output:
        """Runs a command in the server. Raises `GuestCommandFailed` when it does not run or takes too long.

        It ends with the command, not with proot, which stays as long as daemons that the command left behind.
        """
        if not self.alive():
            raise GuestCommandFailed(f"the server {self.id} does not run")
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="exec-") as work:
            place = Path(work)
            (place / "in").write_bytes(input)
            inner = ["sh", "-c", '"$@"; echo $? > "$0/code.new"; mv "$0/code.new" "$0/code"', _EXEC, *command]
            script = 'w="$0"; echo $$ > "$w/pid"; exec "$@" <"$w/in" >"$w/out" 2>"$w/err"'
            words = self.words(inner, {}, [f"{work}:{_EXEC}"])
            run(["sh", "-c", 'setsid sh -c "$0" "$@" >/dev/null 2>&1 &', script, work, *words])
            code = self._await(place, timeout)
            if code is None:
                raise GuestCommandFailed(f"'{command[0]}' in the server {self.id} did not end within {timeout:g} s")
            streams = [_read(place / name) for name in ("out", "err")]
        return Output(streams[0][0], streams[1][0], code, streams[0][1] or streams[1][1])

    def entry(self, command: Sequence[str], terminal: bool) -> CommandEntry:
        """How a command gets into it. Raises `GuestCommandFailed`. Proot may stay when it has ended (`execute`)."""
        if not self.alive():
            raise GuestCommandFailed(f"the server {self.id} does not run")
        env = {"TERM": "xterm-256color"} if terminal else {}
        inner = ["sh", "-c", f'"$@" {STATUS}>&-; echo $? >&{STATUS}', "sh", *command]
        return CommandEntry(self.words(inner, env), os.openpty() if terminal else None, status=True)

    def _await(self, place: Path, timeout: float) -> int | None:
        """Exit status of a command; None when it was ended because it took too long."""
        end = time.monotonic() + timeout
        while not (place / "code").exists():
            pid = int((place / "pid").read_text("ascii").strip() or 0) if (place / "pid").exists() else 0
            if pid and process(pid) is None and not (place / "code").exists():
                said = _read(place / "err")[0].decode("utf-8", "replace").strip()[-300:]
                raise GuestCommandFailed(f"the server {self.id} stopped meanwhile: {said}")
            if time.monotonic() > end:
                for led in _led_by({pid}) if pid else ():
                    _kill(led)
                return None
            time.sleep(0.01)
        return int((place / "code").read_text("ascii"))

    def _leaders(self) -> set[int]:
        """The proot processes of this server."""
        mark = os.fsencode(str(self.root))
        found: set[int] = set()
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                except OSError:
                    continue
                if os.path.basename(words[0]) == b"proot" and mark in words:
                    found.add(int(name))
        return found


def copy_tree(source: Path, target: Path) -> None:
    """Copies an image's tree (sharing blocks where the file system can).

    A copy goes on when the process that began it is killed: whoever comes next waits for it.
    """
    if not target.is_dir():
        paths = (str(source), str(_partial(target)), str(target))
        run(["flock", str(_copying(target)), "sh", "-c", _COPY, "sh", *paths], timeout=900)


def _partial(root: Path) -> Path:
    """Where a copy is until it is whole."""
    return root.with_name(".root")


def _copying(root: Path) -> Path:
    """The lock of whoever copies."""
    return root.with_name("copy.lock")


def _await_copy(root: Path) -> None:
    """Waits for a copy that somebody began who was killed."""
    if _copying(root).exists():
        run(["flock", str(_copying(root)), "true"], timeout=900)


def write_files(root: Path, files: Mapping[str, tuple[int, bytes]]) -> None:
    """Writes files of a tree in which nothing runs yet."""
    for path, (mode, data) in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink() or place.exists():
            place.unlink()
        place.write_bytes(data)
        place.chmod(mode)


def link_shims(root: Path) -> None:
    """`systemctl` and `service` of a server without an init system, `hostname` and `mount` of one without a kernel of
    its own."""
    for name in ("systemctl", "service"):
        place = root / "usr/local/sbin" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copyfile(str(systemctl.__file__), place)
        place.chmod(0o755)
    for name, text in (("bin/hostname", _HOSTNAME), ("sbin/mount", _MOUNT)):
        place = root / "usr/local" / name
        place.unlink(missing_ok=True)
        place.write_text(text)
        place.chmod(0o755)


def _led_by(leaders: set[int]) -> set[int]:
    found: set[int] = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/status", encoding="utf-8", errors="replace") as file:
                    tracer = next((int(line.split()[1]) for line in file if line.startswith("TracerPid:")), 0)
            except OSError:
                continue
            if tracer in leaders:
                found.add(int(name))
    return found


def _read(path: Path) -> tuple[bytes, bool]:
    """The beginning of a stream, and whether there was more."""
    if not path.exists():
        return b"", False
    with open(path, "rb") as file:
        data = file.read(LARGEST_OUTPUT + 1)
    return data[:LARGEST_OUTPUT], len(data) > LARGEST_OUTPUT


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
