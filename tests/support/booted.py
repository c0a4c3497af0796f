"""A Debian of its own that systemd-nspawn has booted, with the programs of this machine: for tests of units.

Its `/usr` is this machine's, only to be read; `/etc` begins as a copy without units, everything else is empty. It has a
network of its own without a way out, and may all that a machine may: servers of Vetro's run in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.support.needs import need

ROOT = Path(__file__).parents[2]
#: What it does before all other units: control groups that can be written to, and loop devices, as machines have them.
_MACHINE = """\
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'for one in /sys/fs/cgroup /sys/fs/cgroup/*/; do mount -o remount,rw $one; done; true'
ExecStart=/bin/sh -c 'mknod /dev/loop-control c 10 237; for n in $(seq 0 127); do mknod /dev/loop$n b 7 $n; done; true'
ExecStart=/bin/sh -c 'ip link set lo up; mount --make-rshared /'
[Install]
WantedBy=sysinit.target
"""


class Booted:
    """``folder`` is where its root lies."""

    def __init__(self, folder: Path) -> None:
        need(None if shutil.which("systemd-nspawn") else "systemd-nspawn (Debian's package systemd-container)")
        need(None if Path("/lib/systemd/systemd").exists() else "systemd (Debian's package systemd)")
        self.root = folder / "root"
        self._log = folder / "console"
        for name in ("usr", "proc", "sys", "dev", "run", "tmp", "var/lib", "var/log", "var/tmp", "root", "home"):
            (self.root / name).mkdir(parents=True)
        (self.root / "tmp").chmod(0o1777)
        (self.root / "var/tmp").chmod(0o1777)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        etc = self.root / "etc"
        subprocess.run(["cp", "-a", "/etc", str(etc)], check=True)
        for name in ("systemd/system", "systemd/user", "init.d", *(f"rc{level}.d" for level in "0123456S")):
            shutil.rmtree(etc / name, ignore_errors=True)
        for name in ("fstab", "machine-id", "os-release", "hostname"):
            (etc / name).unlink(missing_ok=True)
        shutil.copy("/usr/lib/os-release", etc / "os-release")
        (etc / "hostname").write_text("machine\n")
        (etc / "machine-id").touch()
        self.units = etc / "systemd" / "system"
        self.units.mkdir(parents=True)
        (self.units / "machine.service").write_text(_MACHINE)
        (self.units / "default.target").symlink_to("/lib/systemd/system/multi-user.target")
        self.control("enable", "machine")

    def control(self, *words: str) -> None:
        """`systemctl` before it is booted."""
        subprocess.run(["systemctl", f"--root={self.root}", *words], check=True, capture_output=True)

    def boot(self) -> None:
        """Boots it, and waits until its units were started."""
        known = (str(ROOT), sys.prefix, *sys.path)
        places = {str(Path(path).resolve()) for path in known if path and Path(path).is_dir()}
        code = [f"--bind-ro={path}" for path in sorted(places) if not path.startswith("/usr/")]
        argv = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-users=no", "--private-network",
                "--capability=all", "--system-call-filter=@known", "--console=pipe", "--kill-signal=SIGRTMIN+3",
                f"--directory={self.root}", "--machine=vetro-booted", "--bind-ro=/usr", *code, "--boot"]  # fmt: skip
        with open(self._log, "wb") as log:
            # In a session of its own: Ctrl-C is for who runs the tests.
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes"},
            )  # fmt: skip
        self.await_units()

    def leader(self) -> int | None:
        """The process that is its first one."""
        try:
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            for pid in map(int, text.split()):
                todo = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
                for one in todo:
                    if Path(f"/proc/{one}/comm").read_text().strip() == "systemd":
                        return one
        except OSError:
            pass
        return None

    def await_units(self, seconds: float = 600) -> None:
        """Waits until all that is to be started was."""
        end = time.monotonic() + seconds
        while self.call("systemctl", "is-system-running", check=False) not in ("running", "degraded"):
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.1)

    def call(self, *words: str, check: bool = True, input: bytes | None = None, timeout: float = 900) -> str:
        """Standard output of a command in it, as its root."""
        return self.output(*words, check=check, input=input, timeout=timeout).decode("utf-8", "replace").strip()

    def output(self, *words: str, check: bool = True, input: bytes | None = None, timeout: float = 900) -> bytes:
        """The same, byte for byte."""
        leader = self.leader()
        if leader is None:
            assert not check, self.said()
            return b""
        argv = ["nsenter", "--target", str(leader), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root",
                "--wd", "env", "-i", "PATH=/usr/bin:/usr/sbin", "LANG=C.UTF-8", *words]  # fmt: skip
        done = subprocess.run(argv, input=input or b"", capture_output=True, timeout=timeout, check=False)
        assert not check or done.returncode == 0, f"{words}: {done.stdout[-2000:]!r} {done.stderr[-4000:]!r}"
        return done.stdout

    def said(self) -> str:
        """The end of what it wrote on its console, and of its journal."""
        journal = self.call("journalctl", "--no-pager", "--lines=120", check=False) if self.leader() else ""
        return self._log.read_text("utf-8", "replace")[-4000:] + journal[-12000:]

    def reboot(self) -> None:
        """All of it ends, and starts again."""
        self.call("systemctl", "reboot", check=False)
        self.process.wait(300)  # whoever runs systemd-nspawn is to start it again
        self.boot()

    def off(self) -> None:
        """Shuts it down, or ends whatever is left of it."""
        self.call("systemctl", "poweroff", check=False)
        try:
            self.process.wait(300)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
