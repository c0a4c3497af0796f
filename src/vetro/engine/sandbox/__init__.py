"""The walls around a task process, put up before anything of a package is read.

`leave_network` is called once, by the zygote; `enter` by each task process. Both do what the kernel allows and say, as
`Layer`s, what is in force; whether that is enough is for the caller to decide. The layers overlap on purpose: a network
connection, for example, is impossible because there is no interface, because sockets cannot be made, and because
Landlock refuses it. Works for root and for ordinary users.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from dataclasses import field

from vetro.data_classes import dataclass
from vetro.engine.sandbox import filter as call_filter
from vetro.engine.sandbox import identity, kernel, landlock, mounts
from vetro.engine.sandbox.layers import ADVICE, LAYERS, Layer

#: What the standard library reads outside of Python's own folders: time zones.
DATA = ("/usr/share/zoneinfo", "/etc/localtime")
#: Descriptors that a task may have.
DESCRIPTORS = 64

_NOTHING = (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK)


@dataclass
class Confinement:
    """What the zygote knows of its tasks' walls."""

    network: Layer
    #: Names of layers without which no task is to run.
    required: frozenset[str] = frozenset()
    #: Process id of the zygote.
    parent: int = 0
    #: Files and folders that every task may read.
    readable: tuple[str, ...] = field(default_factory=lambda: (*python_folders(), *DATA))

    def __post_init__(self) -> None:
        unknown = self.required - set(LAYERS)
        if unknown:
            raise ValueError(f"there is no layer '{min(unknown)}' of the sandbox: known are {', '.join(LAYERS)}")


def python_folders() -> tuple[str, ...]:
    """Where this interpreter finds its modules."""
    return tuple(dict.fromkeys(os.path.abspath(path) for path in sys.path if path and os.path.exists(path)))


def leave_network() -> Layer:
    """Gives this process and its children a network of their own in which there is nothing."""
    user, group = os.geteuid(), os.getegid()
    apart = kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
    try:
        kernel.unshare(apart)
        return Layer("network", True, "own network and IPC namespace")
    except OSError:
        pass
    try:
        kernel.unshare(apart | kernel.CLONE_NEWUSER)
    except OSError as error:
        return Layer("network", False, f"no namespace: {error.strerror}")
    # Without this mapping every file would seem to belong to everybody.
    for name, line in (("uid_map", f"{user} {user} 1"), ("setgroups", "deny"), ("gid_map", f"{group} {group} 1")):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
        except OSError:
            break  # tasks are as well protected without it
    return Layer("network", True, "own user, network and IPC namespace")


def packages_unreadable() -> bool:
    """Whether tasks can read no package: for root, where the kernel or a container has neither Landlock nor mounts.

    The user of tasks reads only what everybody may read then, and what the service keeps is for itself alone."""
    return os.geteuid() == 0 and not landlock.version() and not kernel.capabilities() >> kernel.CAP_SYS_ADMIN & 1


def enter(confinement: Confinement, pipe: int, packages: tuple[str, ...]) -> list[Layer]:
    """Shuts this process in for good; only ``pipe`` leads outside. What is in force, in the order of `LAYERS`.

    ``packages`` are the paths that the task may read besides those of the confinement.
    """
    layers = {"network": confinement.network, "limits": _limits()}
    readable = (*confinement.readable, *packages)
    rules, reason = _rules(readable)
    layers["privileges"] = _attempt("privileges", _no_new_privileges)
    layers["files"] = _restrict(rules, reason)
    mounted = False
    if not layers["files"].active:
        layers["files"] = _view(readable, layers["files"].detail)
        mounted = layers["files"].active
    keep_reading = layers["files"].active
    layers["user"] = _attempt("user", lambda: identity.drop(keep_reading=keep_reading, parent=confinement.parent))
    layers["calls"] = _attempt("calls", _filter)
    if mounted and not layers["calls"].active:
        kernel.set_capabilities()  # by handles of files, which the filter refuses, it would lead out of the mounts
    wanted = confinement.required
    return [Layer(name, layers[name].active, layers[name].detail, required=name in wanted) for name in LAYERS]


def _attempt(name: str, action: Callable[[], str]) -> Layer:
    try:
        return Layer(name, True, action())
    except OSError as error:
        return Layer(name, False, error.strerror or str(error))


def _limits() -> Layer:
    try:
        for limit in _NOTHING:
            resource.setrlimit(limit, (0, 0))
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError) as error:
        return Layer("limits", False, str(error))
    return Layer("limits", True, f"no files, no processes, {most} descriptors")


def _rules(readable: tuple[str, ...]) -> tuple[int | None, str]:
    try:
        return landlock.ruleset(readable), ""
    except OSError as error:
        return None, error.strerror or str(error)


def _restrict(rules: int | None, reason: str) -> Layer:
    if rules is None:
        return Layer("files", False, reason)
    try:
        landlock.restrict(rules)
    except OSError as error:
        return Layer("files", False, error.strerror or str(error))
    finally:
        os.close(rules)
    return Layer("files", True, "Landlock")


def _view(readable: tuple[str, ...], reason: str) -> Layer:
    try:
        return Layer("files", True, mounts.enter(readable))
    except OSError as error:
        return Layer("files", False, f"{reason}; {error.strerror or error}")


def _no_new_privileges() -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    return "no_new_privs"


def _filter() -> str:
    call_filter.install()
    return f"seccomp, {kernel.MACHINE}"


__all__ = [
    "ADVICE",
    "LAYERS",
    "Confinement",
    "Layer",
    "enter",
    "leave_network",
    "packages_unreadable",
    "python_folders",
]
