"""What this machine offers to Vetro: findings of `vetro doctor`, each with what to do where something is missing.

Nothing is guessed: the layers of the sandbox are those that a task process, started for this, really got. More checks
are functions in `CHECKS` (or handed to `examine`): each yields findings.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from glob import glob
from typing import Any, Final

from vetro.clouds import kinds
from vetro.clouds.interface import ExaminesMachine
from vetro.engine.task.launcher import Launcher, LauncherError, TaskProcessEnded
from vetro.engine.task.zygote import STACK

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
    """Which kinds of clouds make servers on this machine."""
    for name in kinds.names():
        try:
            kind = kinds.find(name)
        except kinds.KindMissing as error:
            yield Finding("clouds", name, False, error.message, error.hint)
            continue
        if isinstance(kind, ExaminesMachine):
            for remark in kind.examine_machine():
                yield Finding("clouds", remark.subject or kind.name, remark.level == "ok", remark.text, remark.hint)


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
    found = sorted(glob(f"/usr/lib/postgresql/*/bin/{program}"))
    return found[-1] if found else None


CHECKS: Final[tuple[Check, ...]] = (sandbox, python, clouds, services)


def examine(checks: Iterable[Check] = CHECKS) -> list[Finding]:
    """The findings of all checks, in their order."""
    return [finding for check in checks for finding in check()]
