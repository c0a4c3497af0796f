"""Running the host's own tools (`ip`, `nft`, ``mkfs.ext4``…): no shell, English messages, errors with their reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from shutil import which as find

from vetro.clouds.drivers.errors import HostCommandFailed, HostFailed

#: Debian packages that hold the tools.
PACKAGES = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "proot": "proot",
    "nft": "nftables",
    "ip": "iproute2",
    "bridge": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "dpkg-deb": "dpkg",
    "tar": "tar",
}
#: Administrators' tools are not on every user's path.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def which(tool: str) -> str | None:
    """The tool's path, or None."""
    return find(tool, path=PATH)


def environment() -> dict[str, str]:
    """The environment of tools: this process's own, with English messages and a full path."""
    return {**os.environ, "LC_ALL": "C", "PATH": PATH}


def run(argv: Sequence[str], *, input: str | None = None, timeout: float = 60) -> str:
    """Standard output of a tool that succeeded.

    Raises `HostCommandFailed` with what it said, `HostFailed` when it is not installed or takes too long.
    """
    try:
        done = subprocess.run(
            argv,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment(),
        )
    except FileNotFoundError:
        package = PACKAGES.get(argv[0])
        error = HostFailed(f"this machine has no '{argv[0]}'")
        error.hint = f"install it: apt-get install {package}" if package else None
        raise error from None
    except subprocess.TimeoutExpired:
        raise HostFailed(f"'{' '.join(argv[:6])}' did not end within {timeout:g} s") from None
    if done.returncode != 0:
        raise HostCommandFailed(argv, done.returncode, done.stderr)
    return done.stdout


def attempt(argv: Sequence[str], *, timeout: float = 60) -> bool:
    """Whether a tool succeeded; for undoing what may be gone already."""
    try:
        run(argv, timeout=timeout)
    except HostFailed:
        return False
    return True
