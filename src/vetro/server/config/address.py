"""Where users reach the service, and where its processes find the folder of its run."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Final

from vetro.server.config.config import Config

#: Set by `vetro serve` for its children: a folder of this run; it holds a file `stopping` once the service ends.
RUN: Final = "VETRO_RUN"
#: File in the folder of a run that says where it answers.
FILE: Final = "address"


def url_of(config: Config) -> str:
    """Where users reach the service."""
    public = str(config["server.public_url"]).rstrip("/")
    return public or f"http://{_bracketed(reachable(config))}:{config['server.port']}"


def link_address(config: Config, secret: str) -> str:
    """The address of a link that signs somebody in (`vetro.server.accounts.service.create_link`).

    Where a service runs on this data directory, the link is one to it, whichever port it took.
    """
    url = "" if config["server.public_url"] else _running(config)
    return f"{url or url_of(config)}/app/link/{secret}"


def running_port(config: Config) -> int | None:
    """The port of a service that runs on this data directory, whichever it took; None when none does."""
    port = _run(config).get("port")
    return port if isinstance(port, int) else None


def _running(config: Config) -> str:
    """The address of a service that runs on this data directory; '' when none does."""
    return str(_run(config).get("url", ""))


def _run(config: Config) -> dict[str, Any]:
    """What the file of a run says; empty when no service runs on this data directory."""
    for found in sorted(config.data.joinpath("run").glob("[0-9]*/" + FILE)):
        if Path("/proc", found.parent.name).exists():
            with contextlib.suppress(OSError, ValueError):
                said = json.loads(found.read_text(encoding="utf-8"))
                if isinstance(said, dict):
                    return said
    return {}


def reachable(config: Config) -> str:
    """An address under which this machine reaches the service."""
    host = str(config["server.host"])
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
