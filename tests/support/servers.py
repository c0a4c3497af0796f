"""What tests of real servers share: whether this machine can run them, the image, and a count of what is left over."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.support.needs import need
from vetro.clouds.drivers.specs import NetworkSpec, NicSpec, ServerSpec, SubnetSpec
from vetro.clouds.drivers.values import Id, Mac, Name
from vetro.clouds.images.build import build
from vetro.clouds.images.store import ImageStore
from vetro.clouds.interface import Owner
from vetro.clouds.nspawn.kind import KIND as NSPAWN
from vetro.clouds.nspawn.links import taken
from vetro.server.tasks import effect_hosts

OWNER = Owner("project", "e1f2")
#: What the applications install: it lies ready in an image of its own, `warm_images`.
READY = (
    *("mariadb-server", "mariadb-backup", "mariadb-client", "haproxy", "socat", "nginx"),
    *("php", "php-fpm", "php-mysql", "php-curl", "php-mbstring", "php-xml", "php-intl"),
    *("wordpress", "wordpress-theme-twentytwentythree", "wordpress-l10n"),
    *("postgresql-15", "postgresql-client-15", "redis-server", "redis-tools", "memcached", "rabbitmq-server"),
    *("prometheus", "prometheus-alertmanager", "prometheus-node-exporter", "apache2-utils", "openssl", "git"),
    *(f"prometheus-{name}-exporter" for name in ("mysqld", "nginx", "postgres", "redis")),
)


def image_store() -> ImageStore:
    """The store with the image that all tests share; it is built once and kept (VETRO_IMAGE_CACHE)."""
    cache = os.environ.get("VETRO_IMAGE_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    store = ImageStore(Path(cache) if cache else home / "vetro" / "test-images")
    build(store)
    return store


def warm_images() -> Path:
    """A store whose image has packages of the catalog as files: servers install them without a mirror."""
    folder = Path(os.environ.get("VETRO_CATALOG_IMAGES") or image_store().folder.parent / "catalog-images")
    build(ImageStore(folder), ready=READY)
    return folder


def real_servers() -> ImageStore:
    """The images, where nspawn servers can run."""
    need(NSPAWN.missing())
    return image_store()


@contextmanager
def images_in(folder: Path) -> Iterator[None]:
    """Servers that this process makes, itself or by its effects hosts, start from the images in a folder.

    What forks effects hosts is kept in a process, and has the variables of the test that began it: it begins anew, and
    does not stay for a test that has other images, or none.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VETRO_IMAGES", str(folder))
        effect_hosts.close()
        try:
            yield
        finally:
            effect_hosts.close()


def free_block(avoid: tuple[str, ...] = ()) -> str:
    """The first three numbers of a /24 that this machine does not use."""
    used = " ".join([*taken(), *(f"{block}." for block in avoid)])
    start = os.getpid()
    blocks = (f"10.{192 + (start + i) // 256 % 32}.{(start + i) % 256}" for i in range(8000))
    return next(block for block in blocks if f"{block}." not in used)


def network(
    block: str,
    id: str = "net",
    *,
    router: str | None = "router",
    uplink: bool = True,
    project: str = OWNER.project,
    leased: bool = True,
) -> NetworkSpec:
    """A network with one subnet, which this machine may reach."""
    subnet = SubnetSpec(Id(f"sub-{id}"), IPv4Network(f"{block}.0/24"), IPv4Address(f"{block}.1"), leased=leased)
    behind = None if router is None else Id(router)
    return NetworkSpec(Id(id), Name(id), [subnet], router=behind, uplink=uplink, project=Name(project))


def pool(cidr: str) -> NetworkSpec:
    """A pool of floating addresses."""
    subnet = SubnetSpec(Id("sub-pool"), IPv4Network(cidr))
    return NetworkSpec(Id("pool"), Name("pool"), [subnet], external=True, project=Name("admin"))


def server(number: int, block: str, net: str = "net", **more: object) -> ServerSpec:
    """A small server with one interface, whose address ends with its number + 10."""
    nic = NicSpec(
        Id(f"port-{net}-{number}"),
        Id(net),
        Mac(f"02:00:00:00:{len(net):02x}:{number:02x}"),
        IPv4Address(f"{block}.{number + 10}"),
        24,
        IPv4Address(f"{block}.1"),
    )
    facts: dict[str, object] = {
        "id": f"server-{number}",
        "name": f"web{number}",
        "hostname": f"web{number}",
        "owner": OWNER,
        "region": "",
        "stack": "stack",
        "image": {"name": "debian-12-murano"},
        "flavor": {"name": "tiny", "vcpus": 1, "ram": 512, "disk": 2},
        "nics": (nic,),
    }
    return ServerSpec(**{**facts, **more})  # type: ignore[arg-type]


def traces(cloud: str, folder: Path) -> dict[str, list[str]]:
    """Everything on this machine that belongs to a cloud: mounts, interfaces, control groups, processes, rules…

    Loop devices by their files, of which the same may lie on another device after a restart.
    """

    def said(*argv: str) -> list[str]:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()

    processes: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                groups = (entry / "cgroup").read_text()
            except OSError:
                continue
            if line and (str(folder) in line or f"vetro-{cloud}" in groups):
                processes.append(line)
    links = os.listdir("/sys/class/net")
    return {
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line],
        "loops": [re.sub(r"^/dev/loop\d+: ", "", line) for line in said("losetup", "-a") if str(folder) in line],
        "links": [name for name in links if name.startswith((f"vt{cloud}", f"vx{cloud}"))],
        "namespaces": [name for name in said("ls", "/run/netns") if name.startswith(f"vt{cloud}")],
        "routes": [line for line in said("ip", "-4", "route", "show", "table", "all") if f"vt{cloud}" in line],
        "groups": [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/vetro-{cloud}")]
        + [str(path) for path in Path("/sys/fs/cgroup").glob(f"vetro-{cloud}")],
        "rules": [line for line in said("nft", "list", "tables") if cloud in line],
        "processes": processes,
        "propagated": [name for name in said("ls", "/run/systemd/nspawn/propagate") if name.startswith(cloud)],
        "notes": [str(path) for path in Path("/run/vetro").rglob(f"*{cloud}*")],
    }


def listed(cloud: str, folder: Path) -> set[str]:
    """`traces` as one set, each with how often it is there; of processes only whether there are some."""
    found = traces(cloud, folder)
    there = {"processes"} if found.pop("processes") else set()
    return there | {
        f"{what}: {name} ({times})" for what, names in found.items() for name, times in Counter(names).items()
    }
