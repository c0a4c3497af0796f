"""Running a command inside a server, as root of the guest: never with rights on this machine.

The command enters the guest's control group and then all its namespaces; in the user namespace it is the guest's root,
which is nobody here. What it prints is bounded.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vetro.clouds.drivers.errors import GuestCommandFailed
from vetro.clouds.drivers.tools import environment
from vetro.clouds.guest import entrance

#: Bytes that are kept of each stream; more is read and dropped.
LARGEST_OUTPUT = 8 << 20
GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Output:
    """How a command ended; ``cut`` when a stream was longer than `LARGEST_OUTPUT`."""

    stdout: bytes
    stderr: bytes
    code: int
    cut: bool = False


def guest_environment(extra: Mapping[str, str]) -> list[str]:
    """What a command in a guest finds in its environment, as words of ``env -i``."""
    fixed = {"PATH": GUEST_PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    return [f"{key}={value}" for key, value in {**fixed, **extra}.items()]


def entering(leader: int, groups: Sequence[str], command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The words that run ``command`` inside the guest whose first process is ``leader``; ``groups``: files of control
    groups that it enters before."""
    program = [sys.executable, "-I", "-S", str(entrance.__file__)]
    return [*program, str(leader), *groups, "--", "env", "-i", *guest_environment(env), *command]


def collect(argv: Sequence[str], *, input: bytes = b"", timeout: float, what: str) -> Output:
    """Runs ``argv`` and gives what it printed. Raises `GuestCommandFailed` after ``timeout`` seconds."""
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    assert child.stdin and child.stdout and child.stderr
    kept = {child.stdout: bytearray(), child.stderr: bytearray()}
    cut = False
    deadline = time.monotonic() + timeout
    view = memoryview(input)
    with selectors.DefaultSelector() as selector:
        for stream in (child.stdin, child.stdout, child.stderr):
            os.set_blocking(stream.fileno(), False)
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stderr, selectors.EVENT_READ)
        if view:
            selector.register(child.stdin, selectors.EVENT_WRITE)
        else:
            child.stdin.close()
        handle = os.pidfd_open(child.pid)
        selector.register(handle, selectors.EVENT_READ)
        ended = False
        try:
            while not ended or selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise GuestCommandFailed(f"{what} did not end within {timeout:g} s")
                ready = selector.select(0 if ended else left)
                if ended and not ready:
                    break  # a daemon that it left behind may hold its output open for ever
                for key, _ in ready:
                    if key.fd == handle:
                        ended = True
                        selector.unregister(handle)
                        if child.stdin in (item.fileobj for item in selector.get_map().values()):
                            selector.unregister(child.stdin)
                        continue
                    if key.fileobj is child.stdin:
                        try:
                            view = view[os.write(key.fd, view[: 1 << 16]) :]
                        except BrokenPipeError:
                            view = view[len(view) :]
                        if not view:
                            selector.unregister(child.stdin)
                            child.stdin.close()
                        continue
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    store = kept[key.fileobj]  # type: ignore[index]
                    room = LARGEST_OUTPUT - len(store)
                    store += data[:room]
                    cut = cut or len(data) > room
            code = child.wait()
        finally:
            os.close(handle)
            if child.poll() is None:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                stream.close()
    return Output(bytes(kept[child.stdout]), bytes(kept[child.stderr]), code, cut)
