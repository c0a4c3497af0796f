"""``python -m vetro.engine.host --fd N --parent PID``: the effects host's own process, started by `HostProcess`."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
from typing import Any

from vetro.engine.frames import Decoder, FrameError, encode, read
from vetro.engine.host.config import build_host
from vetro.engine.host.performer import describe
from vetro.engine.host.serving import GRACE, Service

_PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> None:
    """The kernel ends this process when its parent ends: no effect is begun for a worker that is gone."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _send(fd: int, message: dict[str, Any]) -> None:
    data = memoryview(encode(message))
    while data:
        data = data[os.write(fd, data) :]


def main() -> int:
    """Serves until the worker says that the task is over, or has gone; the exit status."""
    parser = argparse.ArgumentParser(prog="vetro.engine.host")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    _die_with(options.parent)
    os.set_inheritable(options.fd, False)  # programs that a cloud starts have no business with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker cancels in order
    try:
        messages = read(options.fd, Decoder())
        if not messages:
            return 1
        host = build_host(messages[0]["config"])
    except (FrameError, OSError):
        return 1
    except Exception as error:
        _send(options.fd, {"t": "refused", "error": describe(error)})
        return 1
    _send(options.fd, {"t": "ready"})
    if not Service(options.fd, host).run():
        os._exit(1)  # the worker has gone: its successor adopts what was begun
    host.close(GRACE)
    return 0


if __name__ == "__main__":
    # Threads that still wait for a server must not hold up the end.
    os._exit(main())
