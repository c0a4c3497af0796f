"""What protects the machine from a task: one `Layer` for each means of the kernel, and what it takes to have it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from vetro.data_classes import dataclass

#: name -> what it does, in the order in which they are put on.
LAYERS: Final[dict[str, str]] = {
    "network": "tasks are in a network namespace without any interface",
    "limits": "tasks can make no file, process or core dump; memory and processor time are limited",
    "files": "tasks can read packages, cache and Python's libraries, nothing else (Landlock, or mounts of their own)",
    "privileges": "tasks cannot gain privileges",
    "user": "tasks run without capabilities, as a user who owns nothing",
    "calls": "tasks can only make the system calls of an interpreter that computes (seccomp)",
}

ADVICE: Final[dict[str, str]] = {
    "network": "run Vetro as root, or allow user namespaces (sysctl user.max_user_namespaces and, on some systems,"
    " kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0); a container needs"
    " CAP_SYS_ADMIN or a seccomp profile that allows unshare",
    "limits": "look at the hard limits of this user (ulimit -H -a)",
    "files": "use a kernel of version 5.13 or newer with CONFIG_SECURITY_LANDLOCK and 'landlock' in its list lsm=; in a"
    " container, run Vetro as its root with CAP_SYS_ADMIN",
    "privileges": "use a kernel of version 3.5 or newer",
    "user": "run Vetro as root or as an ordinary user; in a container, map user ids up to 65535",
    "calls": "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64; a container must allow the call seccomp",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """One means of protection as a task process found it."""

    name: str
    active: bool
    #: What exactly is in force, or why it is not.
    detail: str = ""
    #: No task is started without it.
    required: bool = False

    @property
    def advice(self) -> str | None:
        """What to do to have it; None when it is there."""
        return None if self.active else ADVICE[self.name]

    def as_json(self) -> dict[str, Any]:
        """``{name, active, detail, required, purpose, advice}``."""
        return {**asdict(self), "purpose": LAYERS[self.name], "advice": self.advice}
