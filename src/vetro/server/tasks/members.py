"""The workers that joined: who they are, whether they live, and taking over from those that died on this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from enum import Enum
from pathlib import Path

from vetro.engine.version import engine_version
from vetro.server.config.config import Config
from vetro.server.tasks import clock, plan
from vetro.server.tasks.member import Member
from vetro.server.tasks.models import WorkerProcess
from vetro.server.tasks.release import release
from vetro.server.tasks.wakeup import folder, tidy

#: Of folders of heartbeats; dead workers of earlier versions left such ones, too.
_PREFIX = "pulse-"


class Instruction(Enum):
    """What somebody wants of a worker: nothing, that it ends after its tasks, that it ends now."""

    NOTHING = 0
    DRAIN = 1
    END = 2


def this_host() -> str:
    """A name for everything that shares our process ids: machine, since its start, and namespace of processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
        space = os.readlink("/proc/self/ns/pid").partition("[")[2].rstrip("]")
    except OSError:
        boot, space = secrets.token_hex(4), "0"
    return f"{socket.gethostname()[:200]}/{boot}/{space}"


def join(labels: list[str]) -> Member:
    """Writes this process down as a worker."""
    pid = os.getpid()
    member = Member(f"{socket.gethostname()[:180]}-{pid}-{secrets.token_hex(4)}", this_host(), pid, tuple(labels))
    _write(member, False)
    return member


def _write(member: Member, draining: bool) -> None:
    WorkerProcess.objects.create(
        id=member.id,
        host=member.host,
        pid=member.pid,
        version=engine_version(),
        labels=list(member.labels),
        seen=clock.after(),
        draining=draining,
    )


def make_heartbeats(config: Config, member: Member) -> Path:
    """Makes the folder in which the worker writes down, for its effects hosts, which leases it renews."""
    heartbeats = folder(config.data) / f"{_PREFIX}{member.id}"
    heartbeats.mkdir(mode=0o700)
    return heartbeats


def beat(member: Member, *, draining: bool = False) -> Instruction:
    """The worker lives; ``draining``: it takes nothing more. What is wanted of it.

    One that was silent for so long that others forgot it is written down again.
    """
    mine = WorkerProcess.objects.filter(id=member.id)
    if not mine.update(seen=clock.after(), **({"draining": True} if draining else {})):
        _write(member, draining)
        return Instruction.NOTHING
    asked = mine.filter(draining=True).values_list("drain_until", flat=True)
    if not list(asked):
        return Instruction.NOTHING
    return Instruction.END if mine.filter(drain_until__lte=clock.after()).exists() else Instruction.DRAIN


def leave(member: Member) -> int:
    """The worker ends: its tasks are for others, at once. How many these are."""
    released = release(member.id)
    WorkerProcess.objects.filter(id=member.id).delete()
    return released


def take_over(config: Config) -> int:
    """Frees the tasks of workers of this machine whose processes are gone; how many. Others are waited for: leases.

    What the dead left in this data directory is removed.
    """
    freed, known, dead = 0, set(), False
    # Looked for before the rows: whoever joins meanwhile has a row before its folder.
    heartbeats = list(folder(config.data).glob(f"{_PREFIX}*"))
    for id, host, pid in WorkerProcess.objects.values_list("id", "host", "pid"):
        if host != this_host() or lives(pid):
            known.add(id)
            continue
        dead = True
        freed += release(id)
        WorkerProcess.objects.filter(id=id).delete()
    for place in heartbeats:
        if place.name.removeprefix(_PREFIX) not in known:
            dead = True
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:  # of a version that had one heartbeat for all leases of a worker
                place.unlink(missing_ok=True)
    if dead:
        remove_left_over(config)
    return freed


def remove_left_over(config: Config) -> None:
    """Removes sockets of processes that were killed, and what they left of plans."""
    place = folder(config.data)
    tidy(place)
    plan.tidy(place)


def forget_silent(seconds: float) -> None:
    """Removes workers that nobody heard of for so long; their leases lapsed before."""
    WorkerProcess.objects.filter(seen__lt=clock.after(-seconds)).delete()


def lives(pid: int) -> bool:
    """Whether the process runs. One that only waits to be reaped is dead; that an id is used again costs a lease."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # gone, or of another user and hidden (hidepid, ProtectProc=)
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return True
    return state not in ("Z", "X")
