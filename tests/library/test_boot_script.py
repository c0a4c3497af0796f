"""The boot script of Linux servers really runs: in a sandbox with a root folder of its own, by /bin/sh, twice."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.library.deploying import Deployed, server
from tests.support.needs import needs

BWRAP = shutil.which("bwrap")
#: What the sandbox takes from the host, read-only. Everything that the script writes is in folders of the test.
SHARED = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
WRITTEN = ("etc", "var", "run", "opt", "usr-local")


def sandbox(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a script as root of a sandbox without network whose folders are below ``root``."""
    assert BWRAP is not None
    (root / "script.sh").write_text(script)
    command = [
        BWRAP,
        "--unshare-all",
        "--uid",
        "0",
        "--gid",
        "0",
        "--die-with-parent",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    for path in SHARED:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    for name in WRITTEN:
        (root / name).mkdir(exist_ok=True)
        command += ["--bind", str(root / name), "/usr/local" if name == "usr-local" else f"/{name}"]
    command += ["--tmpfs", "/tmp", "--ro-bind", str(root / "script.sh"), "/script.sh", "/bin/sh", "/script.sh"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={"PATH": "/usr/bin"})


def usable() -> bool:
    """Whether this machine lets us make such a sandbox."""
    if BWRAP is None:
        return False
    probe = [BWRAP, "--unshare-all", "--uid", "0", "--gid", "0", "--ro-bind", "/", "/", "true"]
    return subprocess.run(probe, capture_output=True, timeout=60, check=False).returncode == 0


pytestmark = needs(usable(), "bubblewrap and user namespaces")


def script() -> str:
    """The boot script of a server."""
    text: str = Deployed(server()).resources["boot_script_web"]["properties"]["config"]
    return text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder with an agent that notes how it was started."""
    for name in ("etc", "run", "var", "usr-local/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n")
    agent = tmp_path / "usr-local/bin/muranoagent"
    agent.write_text('#!/bin/sh\necho "agent $*" >> /var/started\n')
    agent.chmod(0o755)
    return tmp_path


def test_the_agent_is_configured_and_started(root: Path) -> None:
    ending = "\nwait\nwhile [ ! -s /var/started ]; do sleep 0.05; done\n"
    for _ in range(2):
        done = sandbox(root, script() + ending)
        assert (done.returncode, done.stderr) == (0, "")
    assert set((root / "var/started").read_text().splitlines()) == {"agent --config-dir /etc/murano"}
    config = root / "etc/murano/agent.conf"
    assert "input_queue = eenv-hsrv" in config.read_text()
    for path in (config, root / "etc/murano/certs/ca_certs"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert (root / "var/murano/plans").stat().st_mode & 0o777 == 0o700
    assert (root / "etc/init.d/murano-agent").stat().st_mode & 0o777 == 0o755
    assert "ExecStart=" in (root / "etc/systemd/system/murano-agent.service").read_text()
    assert (root / "etc/hosts").read_text() == "127.0.0.1 localhost\n127.0.1.1 web\n"


def test_systemd_is_asked_where_it_runs(root: Path) -> None:
    (root / "run/systemd/system").mkdir(parents=True)
    systemctl = root / "usr-local/bin/systemctl"
    systemctl.write_text('#!/bin/sh\necho "$*" >> /var/asked\n')
    systemctl.chmod(0o755)
    # The script's own PATH begins with /usr/local: the stand-in is found first.
    assert sandbox(root, script()).returncode == 0
    assert (root / "var/asked").read_text().splitlines() == [
        "daemon-reload",
        "--no-block stop murano-agent.service",
        "daemon-reload",
        "enable murano-agent.service",
        "--no-block start murano-agent.service",
    ]


def test_an_agent_of_old_images_is_linked(root: Path) -> None:
    old = root / "opt/stack/venvs/murano-agent/bin"
    old.mkdir(parents=True)
    (root / "usr-local/bin/muranoagent").rename(old / "muranoagent")
    assert sandbox(root, script()).returncode == 0
    assert os.readlink(root / "usr-local/bin/muranoagent") == "/opt/stack/venvs/murano-agent/bin/muranoagent"


def test_put_file_moves_what_the_agent_delivered(root: Path) -> None:
    files = Path(__file__).parents[2] / "src/vetro/library/io.murano/Resources/scripts/putFile.sh"
    encoded = base64.b64encode(files.read_bytes()).decode()
    (root / "var/stored").write_bytes(b"new \x00 content")
    (root / "etc/kept").write_text("old")
    (root / "etc/kept").chmod(0o640)
    done = sandbox(
        root,
        f"set -eu\nmkdir /tmp/s && cd /tmp/s\necho {encoded} | base64 -d > putFile.sh\n"
        "for target in /etc/kept '/etc/a b/new'; do\n"
        'cp /var/stored /var/copy; ln -sf /var/copy content; sh ./putFile.sh "$target"; done\n',
    )
    assert (done.returncode, done.stderr) == (0, "")
    for path in (root / "etc/kept", root / "etc/a b/new"):
        assert path.read_bytes() == b"new \x00 content"
    assert (root / "etc/kept").stat().st_mode & 0o777 == 0o640
    assert not (root / "var/copy").exists()
