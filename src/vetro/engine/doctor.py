"""What this machine offers to Vetro: findings of `vetro doctor`, each with what to do where something is missing.

Nothing is guessed: the layers of the sandbox are those that a task process, started for this, really got. More checks
are functions in `CHECKS` (or handed to `examine`): each yields findings.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from vetro.engine.launcher import Launcher, LauncherError, TaskProcessEnded
from vetro.engine.zygote import STACK

#: Where programs of the administrator are, for users whose PATH lacks them.
_SYSTEM_PATH: Final = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    #: ``sandbox``, ``engine``, ``clouds`` or ``services``.
    topic: str
    name: str
    ok: bool
    #: What there is, or why it is missing.
    detail: str
    #: What to do about it; None where nothing needs to be done.
    advice: str | None = None
    #: Vetro is less safe, or does not work, without it: `vetro doctor` fails.
    needed: bool = False

    def as_json(self) -> dict[str, Any]:
        """The fields as a mapping."""
        return asdict(self)


Check = Callable[[], Iterable[Finding]]


def sandbox() -> Iterator[Finding]:
    """The layers around task processes."""
    try:
        with Launcher() as launcher:
            layers = launcher.layers()
    except (LauncherError, TaskProcessEnded) as error:
        yield Finding("sandbox", "task process", False, error.message, error.hint, needed=True)
        return
    for layer in layers:
        detail = layer["detail"] if layer["active"] else f"not allowed here: {layer['detail']}"
        yield Finding("sandbox", layer["name"], layer["active"], detail, layer["advice"], needed=True)


def python() -> Iterator[Finding]:
    """The interpreter, and the room it gives to deep calls."""
    import resource

    yield Finding("engine", "python", True, f"{platform.python_version()} ({sys.executable})", needed=True)
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= STACK
    detail = "no limit" if hard == resource.RLIM_INFINITY else f"at most {hard >> 20} MiB"
    yield Finding(
        "engine",
        "stack",
        enough,
        detail,
        None if enough else f"raise the hard limit of the stack (ulimit -H -s) to {STACK >> 10}",
    )


def clouds() -> Iterator[Finding]:
    """Which drivers of the local cloud can be used."""
    yield Finding("clouds", "record", True, "servers are only written down")
    yield _driver(
        "nspawn",
        {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap", "ip": "iproute2", "nft": "nftables"},
        "servers are containers",
        root=True,
    )
    if os.geteuid() == 0:
        yield from _servers()
    yield _driver(
        "proot", {"proot": "proot", "mmdebstrap": "mmdebstrap"}, "servers are folders, without root", root=False
    )


#: Servers that a machine is looked at for.
SERVERS: Final = 30


def _servers() -> Iterator[Finding]:
    """What the kernel lets many nspawn servers have, and have of their own."""
    from vetro.clouds.images.store import ImageStore
    from vetro.clouds.nspawn import id_ranges, inotify

    limit = inotify.limit()
    enough, most = limit >= inotify.enough_for(SERVERS), inotify.servers_of(limit)
    detail = f"at most {limit} watchers of files (inotify) for all servers together: enough for about {most}"
    yield Finding("clouds", "watches", enough, detail, None if enough else inotify.remedy(SERVERS))
    for image in [image for image in ImageStore().list() if image.shifted.is_dir()][:1]:
        lack = id_ranges.lacking(image.shifted, image.uid)
        detail = "a range for each server" if lack is None else f"one range for all servers: {lack}"
        advice = None if lack is None else "keep images on ext4, xfs or btrfs (VETRO_IMAGES), with Linux 5.19 or later"
        yield Finding("clouds", "user ids", lack is None, detail, advice)


def _driver(name: str, programs: dict[str, str], purpose: str, *, root: bool) -> Finding:
    missing = {program: package for program, package in programs.items() if _which(program) is None}
    advice = []
    if missing:
        advice.append("apt install " + " ".join(sorted(set(missing.values()))))
    if root and os.geteuid() != 0:
        advice.append("run Vetro as root")
    if not advice:
        return Finding("clouds", name, True, purpose)
    reason = f"not found: {', '.join(sorted(missing))}" if missing else "only for root"
    return Finding("clouds", name, False, f"{purpose}; {reason}", "; ".join(advice))


def services() -> Iterator[Finding]:
    """Programs that some settings need."""
    wanted = {
        "rabbitmq-server": ("rabbitmq-server", "agents of old images speak to it"),
        "postgres": ("postgresql", "many workers share a database"),
    }
    for program, (package, purpose) in wanted.items():
        path = _which(program) or _postgres(program)
        advice = None if path else f"apt install {package}, if it is to run on this machine"
        yield Finding("services", program, path is not None, path or f"not found; {purpose}", advice)


def _which(program: str) -> str | None:
    return shutil.which(program, path=_SYSTEM_PATH)


def _postgres(program: str) -> str | None:
    """Debian keeps PostgreSQL's programs out of the PATH, one folder a version."""
    from glob import glob

    found = sorted(glob(f"/usr/lib/postgresql/*/bin/{program}"))
    return found[-1] if found else None


CHECKS: Final[tuple[Check, ...]] = (sandbox, python, clouds, services)


def examine(checks: Iterable[Check] = CHECKS) -> list[Finding]:
    """The findings of all checks, in their order."""
    return [finding for check in checks for finding in check()]
