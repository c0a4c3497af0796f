"""What this machine offers to Vetro: findings of `vetro doctor`, each with what to do where something is missing.

Nothing is guessed: the layers of the sandbox are those that a task process, started for this, really got. More checks
are functions in `CHECKS` (or handed to `examine`): each yields findings, with its topic (``sandbox``, ``engine``,
``clouds`` or ``services``) as code. A warning: Vetro is less safe, or does not work, without it; a note: a choice.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from glob import glob
from typing import Final

from vetro.clouds import kinds
from vetro.clouds.kind_protocols import ExaminesMachine
from vetro.diagnostics import NOTE, OK, WARNING, Diagnostic
from vetro.engine.task.launcher import Launcher, LauncherError, TaskProcessEnded
from vetro.engine.task.zygote import STACK

#: Where programs of the administrator are, for users whose PATH lacks them.
_SYSTEM_PATH: Final = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


Check = Callable[[], Iterable[Diagnostic]]


def sandbox() -> Iterator[Diagnostic]:
    """The layers around task processes."""
    try:
        with Launcher() as launcher:
            layers = launcher.layers()
    except (LauncherError, TaskProcessEnded) as error:
        yield Diagnostic("sandbox", WARNING, error.message, error.hint, subject="task process")
        return
    for layer in layers:
        detail = layer["detail"] if layer["active"] else f"not allowed here: {layer['detail']}"
        yield Diagnostic("sandbox", OK if layer["active"] else WARNING, detail, layer["advice"], subject=layer["name"])


def python() -> Iterator[Diagnostic]:
    """The interpreter, and the room it gives to deep calls."""
    yield Diagnostic("engine", OK, f"{platform.python_version()} ({sys.executable})", subject="python")
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= STACK
    detail = "no limit" if hard == resource.RLIM_INFINITY else f"at most {hard >> 20} MiB"
    hint = None if enough else f"raise the hard limit of the stack (ulimit -H -s) to {STACK >> 10}"
    yield Diagnostic("engine", OK if enough else NOTE, detail, hint, subject="stack")


def clouds() -> Iterator[Diagnostic]:
    """Which kinds of clouds make servers on this machine."""
    for name in kinds.names():
        try:
            kind = kinds.find(name)
        except kinds.KindMissing as error:
            yield Diagnostic("clouds", NOTE, error.message, error.hint, subject=name)
            continue
        if isinstance(kind, ExaminesMachine):
            for remark in kind.examine_machine():
                name = remark.subject or kind.name
                yield Diagnostic("clouds", OK if remark.level == OK else NOTE, remark.text, remark.hint, subject=name)


def services() -> Iterator[Diagnostic]:
    """Programs that some settings need."""
    wanted = {
        "rabbitmq-server": ("rabbitmq-server", "agents of old images speak to it"),
        "postgres": ("postgresql", "many workers share a database"),
    }
    for program, (package, purpose) in wanted.items():
        path = _which(program) or _postgres(program)
        advice = None if path else f"apt install {package}, if it is to run on this machine"
        text = path or f"not found; {purpose}"
        yield Diagnostic("services", OK if path else NOTE, text, advice, subject=program)


def _which(program: str) -> str | None:
    return shutil.which(program, path=_SYSTEM_PATH)


def _postgres(program: str) -> str | None:
    """Debian keeps PostgreSQL's programs out of the PATH, one folder a version."""
    found = sorted(glob(f"/usr/lib/postgresql/*/bin/{program}"))
    return found[-1] if found else None


CHECKS: Final[tuple[Check, ...]] = (sandbox, python, clouds, services)


def examine(checks: Iterable[Check] = CHECKS) -> list[Diagnostic]:
    """The findings of all checks, in their order."""
    return [finding for check in checks for finding in check()]
