"""A Docker of its own for tests: in a network namespace that stands for a machine, its images kept between runs.

The machine that tests run on keeps its packet filter, its forwarding and its own Docker, if it has one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from vetro.clouds.drivers.tools import attempt, run, which
from vetro.clouds.nspawn import ip_forwarding, links
from vetro.clouds.nspawn.cgroups import Cgroups

ROOT = Path(__file__).parents[2]
NAMESPACE, LINK = "vetro-test-docker", "vetrodocker0"
#: The ends of the link between this machine and the one that the namespace stands for.
OUTSIDE, INSIDE = "192.168.251.1", "192.168.251.2"
_NAT = "vetro_test_docker"


class Docker:
    """A daemon that runs; commands for it."""

    def __init__(self, program: str, folder: Path, kept: Path) -> None:
        self.program = program
        self.folder = folder
        self._runc = _runc(folder)
        argv = [*self.enter(), "dockerd", "--data-root", str(kept), "--exec-root", str(folder / "exec"), "--pidfile"]
        argv += [
            str(folder / "pid"),
            "--cgroup-parent",
            f"/{NAMESPACE}",
            "--host",
            f"unix://{folder}/socket",
            "--add-runtime",
            f"here={self._runc}",
        ]
        # Everything in one group would have the share of one process of this machine.
        self._group = Cgroups().group(NAMESPACE)
        self._group.create()
        for path in self._group.folders():
            if (path / "cpu.shares").exists():
                (path / "cpu.shares").write_text("8192")
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen([*argv, "--default-runtime", "here"], stdout=log, stderr=log)
        self.environment = {**os.environ, "DOCKER_HOST": f"unix://{folder}/socket", "ENGINE": program}
        end = time.monotonic() + 60
        while subprocess.run([program, "info"], env=self.environment, capture_output=True).returncode:
            assert self.process.poll() is None and time.monotonic() < end, (folder / "log").read_text()[-3000:]
            time.sleep(0.2)

    @staticmethod
    def enter() -> list[str]:
        """Words in front of a command that is to run on the machine."""
        return ["nsenter", f"--net=/run/netns/{NAMESPACE}"]

    def call(self, *words: str, timeout: float = 900) -> str:
        """Standard output of a command of `docker` that succeeds."""
        argv = [self.program, *words]
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, f"docker {' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    def make(self, *words: str) -> None:
        """Runs a program of this checkout that uses it."""
        subprocess.run(words, env=self.environment, cwd=ROOT, check=True, timeout=1800)

    def end(self) -> None:
        """Ends it and all containers."""
        for name in self.call("ps", "--all", "--quiet").split():
            self.call("rm", "--force", "--volumes", name)
        self.process.terminate()
        self.process.wait(60)
        self._group.kill()
        self._group.remove()


@contextmanager
def docker(folder: Path) -> Iterator[Docker]:
    """A daemon of its own. Skips the test where something is missing, in CI too: nothing installs Docker for tests."""
    program = which("docker")
    lacking = [tool for tool in ("docker", "dockerd", "runc", "iptables", "mmdebstrap") if which(tool) is None]
    if lacking or program is None:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    version = subprocess.run([program, "compose", "version"], capture_output=True, text=True, check=False)
    if re.search(r"version v?[2-9]", version.stdout) is None:
        pytest.skip(f"no docker compose of version 2: {version.stdout}{version.stderr}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vetro" / "test-docker"
    cache.mkdir(parents=True, exist_ok=True)
    found: Docker | None = None
    try:
        _connect()
        ip_forwarding.switch_on(NAMESPACE, [LINK, *links.uplinks()])  # as other clouds of this machine do
        found = Docker(program, folder, cache)
        yield found
    finally:
        try:
            if found is not None:
                found.end()
        finally:
            ip_forwarding.switch_off(NAMESPACE)
            attempt(["nft", "delete", "table", "ip", _NAT])
            attempt(["ip", "link", "del", LINK])
            attempt(["ip", "netns", "del", NAMESPACE])


def _connect() -> None:
    """The namespace, and the way from it to where packages come from."""
    run(["ip", "netns", "add", NAMESPACE])
    run(["ip", "link", "add", LINK, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE])
    run(["ip", "addr", "add", f"{OUTSIDE}/30", "dev", LINK])
    run(["ip", "link", "set", LINK, "up"])
    inside = ["ip", "-n", NAMESPACE]
    run([*inside, "addr", "add", f"{INSIDE}/30", "dev", "eth0"])
    for name in ("eth0", "lo"):
        run([*inside, "link", "set", name, "up"])
    run([*inside, "route", "add", "default", "via", OUTSIDE])
    rule = f"ip saddr {INSIDE} oifname != {LINK} masquerade"
    text = f"table ip {_NAT} {{\n chain leave {{\n type nat hook postrouting priority 100;\n {rule}\n }}\n}}\n"
    run(["nft", "-f", "-"], input=text)


def _runc(folder: Path) -> Path:
    """runc. Where this machine's root lacks capabilities, containers with all of them get those that there are."""
    program = which("runc")
    assert program is not None
    status = Path("/proc/self/status").read_text()
    (have,) = re.findall(r"^CapBnd:\s*(\w+)", status, re.MULTILINE)
    lacking = [name for number, name in _CAPABILITIES.items() if not int(have, 16) >> number & 1]
    script = folder / "runc"
    script.write_text(f"#!{sys.executable} -IS\nLACKING, RUNC = {lacking!r}, {program!r}\n{_WITHOUT}")
    script.chmod(0o755)
    return script


_CAPABILITIES = {14: "CAP_IPC_LOCK", 22: "CAP_SYS_BOOT", 23: "CAP_SYS_NICE", 24: "CAP_SYS_RESOURCE", 25: "CAP_SYS_TIME"}
_WITHOUT = """
import json, os, sys
words = sys.argv[1:]
path = None
if "create" in words or "run" in words:
    path = os.path.join(words[words.index("--bundle") + 1] if "--bundle" in words else ".", "config.json")
elif "--process" in words:
    path = words[words.index("--process") + 1]
if path and LACKING:
    with open(path) as file:
        spec = json.load(file)
    for listed in (spec.get("process", spec).get("capabilities") or {}).values():
        listed[:] = [name for name in listed if name not in LACKING]
    with open(path, "w") as file:
        json.dump(spec, file)
os.execv(RUNC, [RUNC, *words])
"""


class Compose:
    """Files of `deploy/`, copied into a folder, as somebody has them who set it up."""

    def __init__(self, docker: Docker, folder: Path, **variables: str) -> None:
        self.docker = docker
        self.folder = folder / "deploy"
        shutil.copytree(ROOT / "deploy", self.folder)
        shutil.copy(self.folder / "compose/vetro.toml.example", self.folder / "compose/vetro.toml")
        docker.environment |= variables

    def call(self, *words: str, timeout: float = 900) -> str:
        """Standard output of a command of `docker compose`."""
        return self.docker.call("compose", "--file", str(self.folder / "compose.yaml"), *words, timeout=timeout)

    def inside(self, service: str, *words: str) -> str:
        """What a command says in the first container of a service."""
        return self.call("exec", "--no-TTY", service, *words)

    def processes(self, services: Sequence[str]) -> dict[str, set[int]]:
        """Users of the processes of services, as this machine numbers them."""
        found: dict[str, set[int]] = {}
        for service in services:
            for name in self.call("ps", "--quiet", service).split():
                rows = self.docker.call("top", name, "-eo", "pid,uid").splitlines()[1:]
                found.setdefault(service, set()).update(int(row.split()[1]) for row in rows)
        return found
