"""What any private RabbitMQ of the tests needs: its program, free ports, an environment that keeps it in a folder."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
#: Lines for its configuration that all of them have.
QUIET = "loopback_users = none\nlog.console = true\nlog.file = false\nvm_memory_high_watermark.relative = 0.9\n"


def missing() -> list[str]:
    """Programs that this machine lacks."""
    return [name for name in ("epmd", "erl", str(PROGRAM)) if shutil.which(name) is None]


def free_ports(number: int) -> list[int]:
    """Ports of 127.0.0.1 on which nobody listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


def environment(folder: Path, distribution: int, mapper: int) -> dict[str, str]:
    """Variables of a node that reads ``rabbit.conf`` and ``plugins`` in ``folder`` and writes nowhere else.

    ``distribution`` and ``mapper`` are ports for talk between nodes and for Erlang's port mapper.
    """
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_BASE": str(folder),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbit"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "db"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_NODENAME": f"vetro{os.getpid()}@localhost",
        "RABBITMQ_DIST_PORT": str(distribution),
        "ERL_EPMD_PORT": str(mapper),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
