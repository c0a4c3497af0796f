"""The command ``muranoagent``."""

from __future__ import annotations

import argparse
import logging
import os
import pwd
import signal
import sys
from collections.abc import Callable, Sequence

from . import VERSION
from .amqp_transport import AmqpTransport
from .config import Config, ConfigInvalid, read_config
from .loop import Agent, Delay
from .messages import Transport
from .socket_transport import SocketTransport
from .storage import Storage, StorageBusy

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the agent; the exit code: 0 ended as asked, 1 cannot work, 2 wrong arguments or settings."""
    parser = argparse.ArgumentParser(
        prog="muranoagent", description="Runs the execution plans that an engine sends to this server."
    )
    parser.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help="read all *.conf of this directory"
    )
    parser.add_argument("--config-file", action="append", default=[], metavar="FILE", help="read this file")
    parser.add_argument("--once", action="store_true", help="end when one plan was answered")
    parser.add_argument("--version", action="version", version=f"muranoagent {VERSION}")
    options = parser.parse_args(argv)
    if not options.config_dir and not options.config_file:
        options.config_dir = ["/etc/murano"]
    try:
        config = read_config(options.config_file, options.config_dir)
        _log_to(config)
        storage = Storage(config.storage)
        connect, delay = _transport(config)
    except ConfigInvalid as error:
        print(f"muranoagent: {error}", file=sys.stderr)
        return 2
    except (StorageBusy, OSError) as error:
        print(f"muranoagent: {error}", file=sys.stderr)
        return 1
    _complete_environment()
    agent = Agent(config, storage, connect, delay)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, agent.stop)
    signal.set_wakeup_fd(agent.wake_fd, warn_on_full_buffer=False)
    try:
        agent.serve(options.once)
    finally:
        signal.set_wakeup_fd(-1)
        storage.release()
    return 0


def _transport(config: Config) -> tuple[Callable[[], Transport], Delay]:
    path = config.socket
    if path is not None:
        # The socket is on this machine: asking often costs nothing, and a deployment waits for the answer.
        return lambda: SocketTransport(path, config.input_queue), Delay(0.1, 1.5, min(1.0, config.retry_delay))
    settings = AmqpTransport.prepare(config)
    return lambda: AmqpTransport(config, settings), Delay(config.retry_delay, 1.2, 60.0)


def _complete_environment() -> None:
    """What scripts expect of root's environment and init systems do not set (AGENT.md 4, Application)."""
    try:
        account = pwd.getpwuid(os.getuid())
        known = {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name}
    except KeyError:
        known = {"HOME": "/root" if os.getuid() == 0 else "/"}
    for name, value in known.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    here = os.environ.get("PATH", "").split(":")
    os.environ["PATH"] = ":".join(part for part in here + [p for p in _PATH.split(":") if p not in here] if part)


def _log_to(config: Config) -> None:
    handler = logging.FileHandler(config.log_file) if config.log_file else logging.StreamHandler()
    level = logging.DEBUG if config.debug else logging.INFO
    logging.basicConfig(handlers=[handler], level=level, format="%(asctime)s %(levelname)s %(message)s")
