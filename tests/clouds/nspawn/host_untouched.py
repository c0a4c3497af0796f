"""`python -m tests.clouds.nspawn.host_untouched FOLDER KIND…`: hostile templates on nspawn, and the host then.

Run it as root in network and mount namespaces of its own (`SCRIPT`): nobody else changes what is compared. Bridges,
routes, packet filter and files of servers are really made; only the servers are not started. Every argument, input and
file name of this process is looked at for the mark of the hostile texts. Prints one JSON object.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.clouds.stacks.hostile_templates import CORPUS, MARK, places, template
from tests.clouds.stacks.world import OWNER, World, hot
from tests.support.fuzzing import every
from tests.support.servers import traces
from vetro.clouds.images.store import ImageStore
from vetro.clouds.interface import CloudError
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.nspawn.server import NspawnServer
from vetro.clouds.stacks.cloud import StackCloud

#: ``sh -c SCRIPT sh PROGRAM…`` in fresh namespaces: interfaces are looked up in /sys, network namespaces of other
#: clouds are not seen, control groups stay.
SCRIPT = """set -e
mount --make-rprivate /
groups=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --rbind "$groups" /sys/fs/cgroup
mkdir -p /run/netns
umount -R /run/netns 2>/dev/null || true
mount -t tmpfs tmpfs /run/netns
ip link set lo up
exec "$@"
"""
#: What reaches interfaces, the packet filter, disks and servers.
TYPES = (
    "OS::Nova::Server", "OS::Nova::KeyPair", "OS::Neutron::Net", "OS::Neutron::Subnet", "OS::Neutron::Port",
    "OS::Neutron::Router", "OS::Neutron::RouterInterface", "OS::Neutron::FloatingIP", "OS::Neutron::SecurityGroup",
    "OS::Neutron::SecurityGroupRule", "AWS::EC2::SecurityGroup", "OS::Cinder::Volume", "OS::Heat::WaitCondition",
)  # fmt: skip
#: Files below the driver's folder that hold texts for people or for a guest, not for this machine's tools.
_RECORDS = ("server.json", "user-data")

reached: list[str] = []
#: Events of the interpreter itself: code that it compiles and runs is no text for a tool.
_ITSELF = ("compile", "exec", "import", "object.__getattr__", "object.__setattr__", "code.__new__", "marshal.loads")
watching = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: no argument of anything that leaves this process has the mark."""
    if watching and event not in _ITSELF and any(map(_marked, arguments)):
        reached.append(f"{event}: {str(arguments)[:300]}")


def _marked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_marked, value))
    if isinstance(value, dict):
        return any(_marked(key) or _marked(item) for key, item in value.items())
    text = os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value
    return isinstance(text, str) and MARK in text


class Tool(subprocess.Popen[Any]):
    """A program whose input is looked at, too."""

    run: list[str] = []

    def communicate(self, input: Any = None, timeout: float | None = None) -> Any:
        """As it is, after a look."""
        self.run.append(str(self.args))
        if _marked(bytes(input) if isinstance(input, (bytearray, memoryview)) else input):
            reached.append(f"input of {self.args}: {str(input)[:300]}")
        return super().communicate(input, timeout)


class RealWorld(World):
    """The world whose servers are nspawn's, over an image without a system."""

    def open(self) -> None:
        """Makes image, driver and cloud."""
        version = self.folder / "images" / "debian-12-murano" / "v1"
        (version / "shifted").mkdir(parents=True, exist_ok=True)
        manifest = {"name": "debian-12-murano", "serves": [], "info": {}, "uid_base": 1 << 20, "bytes": 0, "built": 0}
        (version / "manifest.json").write_text(json.dumps({**manifest, "sha256": "", "origin": ""}))
        current = version.parent / "current"
        if not current.is_symlink():
            current.symlink_to("v1")
        driver = NspawnDriver(self.folder, images=ImageStore(self.folder / "images"))
        self.driver: Any = driver
        self.cloud = StackCloud(self.folder, driver, self.settings)


def host() -> dict[str, str]:
    """What this machine shows of packet filter, routes, interfaces, mounts, and /etc."""

    def said(*argv: str) -> str:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    etc = hashlib.sha256()
    for folder, names, files in os.walk("/etc"):
        names.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            found = os.lstat(path)
            etc.update(f"{path} {found.st_mode} {found.st_uid} {found.st_size} {found.st_mtime_ns}".encode())
    return {
        "rules": said("nft", "list", "ruleset"),
        "routes": said("ip", "route", "show", "table", "all"),
        "rules of routes": said("ip", "rule", "show"),
        "interfaces": said("ip", "-o", "link"),
        "addresses": said("ip", "-o", "addr"),
        "namespaces": said("ip", "netns", "list"),
        "mounts": Path("/proc/self/mounts").read_text(),
        "etc": etc.hexdigest(),
    }


def _files(folder: Path) -> Iterator[str]:
    """Files of the driver, besides records and what only a guest reads, that have the mark."""
    for at, names, files in os.walk(folder):
        for name in (*names, *files):
            path = os.path.join(at, name)
            if MARK in path:
                yield path
            elif (
                name in files and name not in _RECORDS and not os.path.islink(path) and os.path.getsize(path) < 1 << 20
            ):
                with open(path, "rb") as file:
                    content = file.read()
                if MARK.encode() in content and os.path.basename(at) not in ("networks", "groups"):
                    yield path


def main(folder: str, *kinds: str) -> None:
    """Tries everything and prints what was seen."""
    global watching
    NspawnServer.start = lambda *args, **more: None  # type: ignore[method-assign, assignment]
    subprocess.Popen = Tool  # type: ignore[misc]
    sys.addaudithook(_watch)
    first = host()
    world = RealWorld(Path(folder))
    cloud = world.driver.cloud
    counts = {"tried": 0, "refused": 0, "made": 0, "failed": 0, "servers": 0}
    # Every third by default.
    for place in every(3, (place for place in places() if place[0] in TYPES)):
        for kind in kinds:
            _, resources = template(place, CORPUS[kind])
            counts["tried"] += 1
            watching = True
            try:
                world.push(hot(resources), whole=True)
                counts["made"] += 1
                counts["servers"] += len(list((Path(folder) / "nspawn" / "servers").glob("*/launch.json")))
            except CloudError as error:
                counts["failed" if "is in state" in str(error) else "refused"] += 1
            watching = False
            reached.extend(f"file {path} of {place} {kind}" for path in _files(Path(folder) / "nspawn"))
            world.cloud.delete_stack(OWNER, "", "stack")
            if reached:
                break
    world.driver.sweep([], [])
    world.cloud.close()
    last = host()
    differs = [f"{name}: {first[name]!r} became {last[name]!r}" for name in first if first[name] != last[name]]
    left = {name: found for name, found in traces(cloud, Path(folder) / "nspawn").items() if found}
    print(json.dumps({**counts, "tools": len(Tool.run), "reached": reached, "differs": differs, "left": left}))


if __name__ == "__main__":
    main(*sys.argv[1:])
