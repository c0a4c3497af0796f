"""`vetro cloud helper`: makes servers with root's rights for a service that has none."""

from __future__ import annotations

import logging
import os
import pwd
import socket as socket_module
import stat
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from vetro import file_lock
from vetro.agent.build import build_agent
from vetro.cli import output as out
from vetro.clouds import kinds
from vetro.clouds.drivers.errors import HelperUnusable
from vetro.clouds.helper import presence
from vetro.clouds.helper.limits import HelperLimits, of_machine
from vetro.clouds.helper.service import CloudHelper, listening
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import DriverKind


@click.command("helper")
@click.option("--user", required=True, help="User of the service, by name: the only one who may ask, besides root.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    default=Path("/var/lib/vetro-cloud-helper"),
    help="Where servers and images are kept, root's alone.  [default: /var/lib/vetro-cloud-helper]",
)
@click.option("--socket", type=click.Path(path_type=Path), help="Where it listens.  [default: $VETRO_CLOUD_HELPER]")
@click.option(
    "--settings",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="TOML file with what the service's settings say of addresses: external_cidr, link_cidr, plan_ipv4…",
)
@click.option("--servers", type=click.IntRange(1), default=500, show_default=True, help="The most that it makes.")
@click.option(
    "--memory",
    type=click.IntRange(1),
    metavar="GIB",
    help="What all servers together may have by their flavors.  [default: one and a half times that of the machine]",
)
@click.option(
    "--disk",
    type=click.IntRange(1),
    metavar="GIB",
    help="The same of disks, which take what is written.  [default: twice the file system of the directory]",
)
def command(
    user: str,
    directory: Path,
    socket: Path | None,
    file: Path | None,
    servers: int,
    memory: int | None,
    disk: int | None,
) -> None:
    """Make servers for a service that has no rights of root's; runs as root, beside it.

    The service then makes real servers as its own user: 'vetro serve', workers and commands find the helper by its
    socket. It takes typed requests of one user about one cloud, and reads none of the service's files.
    """
    with out.explained():
        account = _user(user)
        directory = _directory(directory)
        kind, settings = _kind(), {} if file is None else tomllib.loads(file.read_text("utf-8"))
        chosen = kind.settings.from_json(settings)
        images = ImageStore(Path(os.environ.get("VETRO_IMAGES") or directory / "images"))
        _roots(images.folder.resolve())
        place = Place(
            directory=directory, images=images, agent=lambda: build_agent(directory / "agent" / "muranoagent")
        )
        driver = kind.privileged(chosen, place)

        def lacks() -> tuple[str, str | None] | None:
            found = kind.lacks(chosen, place)
            return None if found is None else (found.reason, found.hint)

        most_memory, most_disk = of_machine(directory)
        bounds = HelperLimits(chosen, servers, most_memory if memory is None else memory << 10, disk or most_disk)
        helper = CloudHelper(directory, driver, bounds, account.pw_uid, lacks)
        at = socket or presence.address()
        _roots(at.parent.resolve())
        listener = listening(at, account.pw_gid)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    lack = lacks()
    out.note(f"servers of kind '{kind.name}' are made for {account.pw_name}, who asks at {at}")
    if lack is not None:
        out.note(f"now none can be made: {lack[0]}" + (f"; {lack[1]}" if lack[1] else ""))
    _tell_ready()
    helper.serve(listener)


def _tell_ready() -> None:
    """Lets systemd start the service (sd_notify): before, it would find no helper and only write servers down."""
    place = os.environ.get("NOTIFY_SOCKET")
    if place:
        with socket_module.socket(socket_module.AF_UNIX, socket_module.SOCK_DGRAM) as connection, suppress(OSError):
            connection.sendto(b"READY=1", "\0" + place[1:] if place.startswith("@") else place)


def _user(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        raise HelperUnusable(f"there is no user '{name}' on this machine") from None


def _directory(path: Path) -> Path:
    """The folder, made if it is missing, locked for this process. Raises `HelperUnusable`, also if others change it."""
    if os.geteuid() != 0:
        raise HelperUnusable("the cloud helper needs root: that is what it is for")
    path = path.resolve()
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    _roots(path)
    path.chmod(0o700)  # who made it for a container lets others read
    try:
        file_lock.take(path / "lock", wait=False)  # held until this process ends
    except BlockingIOError:
        raise HelperUnusable(f"another cloud helper works in {path}") from None
    return path


def _roots(path: Path) -> None:
    """Raises `HelperUnusable` where others than root change what is in a folder, or put another one in its place."""
    for folder in (path, *path.parents):
        try:
            found = folder.stat()
        except FileNotFoundError:
            continue
        if found.st_uid != 0 or (found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX):
            raise HelperUnusable(f"others than root can change {folder}: keep the helper's files elsewhere")


def _kind() -> DriverKind[Any]:
    """The best kind that has a helper."""
    found = next((kind for kind in kinds.ranked() if isinstance(kind, DriverKind) and kind.needs_rights), None)
    if found is None:
        raise HelperUnusable("no kind of clouds that is installed needs a helper")
    return found
