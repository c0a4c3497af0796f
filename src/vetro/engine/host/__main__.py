"""``python -m vetro.engine.host``: the effects host's own process.

``--control N --parent PID`` forks hosts (`HostForker`), each of which serves one task over a socket (`HostProcess`);
``--cloud KIND`` says for which kind of cloud.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, cast

from vetro.engine.host.answer import GRACE, describe
from vetro.engine.host.config import build_host, heartbeat_of
from vetro.engine.host.dry_run import DryRunHost
from vetro.engine.host.forker import die_with, serve
from vetro.engine.host.frame_server import Service
from vetro.engine.host.performer import EffectsHost
from vetro.engine.task import sigint
from vetro.frames import Decoder, FrameError, encode, read


def _send(fd: int, message: dict[str, Any]) -> None:
    data = memoryview(encode(message))
    while data:
        data = data[os.write(fd, data) :]


def main() -> int:
    """Serves until the worker says that the task is over, or has gone; the exit status."""
    parser = argparse.ArgumentParser(prog="vetro.engine.host")
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--cloud", default="")
    options = parser.parse_args()
    die_with(options.parent)
    sigint.ignored()  # the worker cancels in order
    os.set_inheritable(options.control, False)
    fd = serve(options.control, options.cloud)
    return 0 if fd is None else serve_worker(fd)


def serve_worker(fd: int) -> int:
    """Gets the settings from ``fd`` and performs the effects of one task; the exit status.

    The settings ``dry_run`` (true: the task is a plan) and ``watch`` (true: it watches environments instead, see
    `vetro.engine.watching.process`) are ours, all others are those of `build_host`.
    """
    os.set_inheritable(fd, False)  # programs that a cloud starts have no business with it
    try:
        messages = read(fd, Decoder())
        if not messages:
            return 1
        config = dict(messages[0]["config"])
        if config.pop("watch", False):
            from vetro.engine.watching.process import serve as watch  # no task needs it

            watch(fd)
            return 0
        dry_run = config.pop("dry_run", False)
        made = build_host(config)
        heartbeat = heartbeat_of(config)
        if heartbeat is not None:
            heartbeat.watch()
        host = cast(EffectsHost, DryRunHost(made)) if dry_run else made
    except (FrameError, OSError):
        return 1
    except Exception as error:
        _send(fd, {"t": "refused", "error": describe(error)})
        return 1
    _send(fd, {"t": "ready"})
    if not Service(fd, host, heartbeat).run():
        os._exit(1)  # the worker has gone: its successor adopts what was begun
    host.close(GRACE)
    return 0


if __name__ == "__main__":
    # Threads that still wait for a server must not hold up the end.
    os._exit(main())
