"""What a server finds when it starts: files laid over its image once, and the folder that this machine keeps for it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.drivers.spec_files import save
from vetro.clouds.drivers.specs import ServerSpec
from vetro.clouds.guest import boot, configure, signal_command
from vetro.clouds.guest.user_data import steps_of
from vetro.clouds.images import sources
from vetro.clouds.images.recipe import RECIPES
from vetro.clouds.images.store import Image

#: Where a guest finds its helper programs and what this machine says about it.
SEED = "/run/vetro-guest"
#: Where it finds the socket of its agent.
SOCKET = "/run/vetro"
AGENT = "/usr/local/bin/muranoagent"
#: The unit in which the boot scripts of the standard library have it run.
AGENT_UNIT = "murano-agent.service"
#: Certificates that an administrator added to this machine.
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")

_NETWORK_UNIT = f"""\
[Unit]
Description=Vetro: name and network
DefaultDependencies=no
After=local-fs.target
Before=network-pre.target network.target network-online.target sysinit.target shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/python3 -I {SEED}/boot.py network
StandardOutput=journal+console
StandardError=journal+console
"""

_BOOT_UNIT = f"""\
[Unit]
Description=Vetro: what the user data says
After=vetro-network.service multi-user.target

[Service]
Type=simple
ExecStart=/usr/bin/python3 -I {SEED}/boot.py boot
KillMode=process
StandardOutput=journal+console
StandardError=journal+console
"""


def signal_program(handle: str) -> str:
    """The command with which a server signals a wait handle."""
    return f"{SEED}/vetro-signal {handle}"


def server_facts(spec: ServerSpec, names: Mapping[str, str], uplink: bool) -> dict[str, Any]:
    """``server.json``: what the boot helper goes by. ``names``: port id -> name of the interface in the guest."""
    nics = [
        {
            "name": names[nic.port_id],
            "addresses": [
                *([f"{nic.ip}/{nic.prefix}"] if nic.ip is not None else []),
                *map(str, nic.extra),
                *(f"{address}/{address.max_prefixlen}" for address in nic.floating),
            ],
            # A network that leads nowhere still has a way to this machine's other networks of the same router.
            "gateway": str(nic.gateway) if nic.gateway is not None else None,
        }
        for nic in spec.nics
    ]
    return {
        "id": spec.id,
        "name": spec.name,
        "hostname": spec.hostname,
        "nics": nics,
        "keys": [spec.key[1]] if spec.key else [],
        "environment": dict(sources.proxy_environment()) if uplink else {},
        "metadata": dict(spec.metadata),
        "steps": steps_of(spec.user_data) if spec.user_data_format != "SOFTWARE_CONFIG" or spec.user_data else [],
    }


def write_seed(folder: Path, facts: Mapping[str, Any], spec: ServerSpec, uid: int) -> None:
    """Fills the folder that the guest sees read-only; only the guest's root (``uid`` here) may look into it."""
    folder.mkdir(exist_ok=True, mode=0o700)
    for name, module in (("boot.py", boot), ("configure.py", configure), ("vetro-signal", signal_command)):
        shutil.copyfile(str(module.__file__), folder / f".{name}")
        (folder / f".{name}").chmod(0o755)
        (folder / f".{name}").replace(folder / name)
    save(folder / "server.json", facts)
    user_data = folder / ".user-data"
    user_data.write_text(spec.user_data, "utf-8", errors="surrogateescape")
    user_data.chmod(0o600)
    user_data.replace(folder / "user-data")
    for path in (folder, *folder.iterdir()):
        os.chown(path, uid, uid)


def write_tree(
    folder: Path, image: Image, spec: ServerSpec, name_servers: Sequence[str], *, uplink: bool, uid: int
) -> None:
    """Writes the files that are laid over the image when the server starts for the first time."""
    files: dict[str, tuple[int, bytes]] = {
        "etc/hostname": (0o644, f"{spec.hostname}\n".encode()),
        "etc/hosts": (0o644, b"::1 ip6-localhost ip6-loopback\n"),
        "etc/resolv.conf": (0o644, "".join(f"nameserver {address}\n" for address in name_servers).encode()),
        "etc/systemd/system/vetro-network.service": (0o644, _NETWORK_UNIT.encode()),
        "etc/systemd/system/vetro-boot.service": (0o644, _BOOT_UNIT.encode()),
    }
    if uplink:
        files.update(outside_files(image))
    shutil.rmtree(folder, ignore_errors=True)
    for path, (mode, data) in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(mode)
    for unit, target in (("vetro-network.service", "sysinit.target"), ("vetro-boot.service", "multi-user.target")):
        link = folder / f"etc/systemd/system/{target}.wants/{unit}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../{unit}")
    for place in (folder, *folder.rglob("*")):
        if place.is_dir() and not place.is_symlink():
            place.chmod(0o755)
        os.lchown(place, uid, uid)


def outside_files(image: Image) -> dict[str, tuple[int, bytes]]:
    """Package sources, proxies and certificates of this machine as they are today."""
    files: dict[str, tuple[int, bytes]] = {}
    recipe = RECIPES.get(image.name)
    if recipe is not None and image.manifest.get("recipe"):
        try:
            entries = sources.apt_sources(recipe.suite)
            files["etc/apt/sources.list.d/vetro-host.sources"] = (0o644, entries.encode())
            for key in sources.keyrings(entries):
                files[str(key).lstrip("/")] = (0o644, key.read_bytes())
            files["etc/apt/apt.conf.d/61vetro-host"] = (0o644, sources.apt_settings().encode())
        except (HostFailed, OSError):
            pass  # another distribution than the image's: what was built in is used
    bundle = sources.ca_bundle()
    if bundle is not None:
        files["etc/ssl/certs/ca-certificates.crt"] = (0o644, bundle)
    for path in sorted(LOCAL_CERTIFICATES.glob("*.crt")) if LOCAL_CERTIFICATES.is_dir() else ():
        if path.is_file():
            name = re.sub(r"[^A-Za-z0-9._-]", "_", path.name)
            files[f"usr/local/share/ca-certificates/{name}"] = (0o644, path.read_bytes())
    proxies = sources.proxy_environment()
    if proxies:
        text = "DEBIAN_FRONTEND=noninteractive\nLANG=C.UTF-8\n" + "".join(f"{k}={v}\n" for k, v in proxies.items())
        files["etc/environment"] = (0o644, text.encode())
    return files
