"""What the lives of applications on real servers share: their servers, a server's death, figures, and that nothing is
left."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.acceptance.kit_nspawn import cloud_of
from tests.cli.deploykit import Place
from tests.support.servers import traces


def hosts(place: Place, environment: str) -> dict[str, str]:
    """Addresses of servers by name."""
    rows = place.data("env", "show", environment)["components"]
    found = ((str(row["server"]), str(row["addresses"])) for row in rows)
    return {name: addresses.split()[0].strip(",") for name, addresses in found if addresses.strip("- ")}


def action(place: Place, environment: str, component: str, name: str, *more: str) -> Any:
    """What an action gives."""
    return place.data("env", "action", environment, name, "--app", component, *more)


def kill(place: Place, *names: str) -> None:
    """All processes of servers die at once: the first one of each, with all others, before who looks after them."""
    left = {*names}
    for folder in (place.root / "cloud" / "nspawn" / "servers").iterdir():
        if (name := json.loads((folder / "server.json").read_text())["name"]) in names:
            left.discard(name)
            pids = [int(pid) for pid, *_ in json.loads((folder / "running.json").read_text()).values()]
            children = [Path(f"/proc/{pid}/task/{pid}/children").read_text().split() for pid in pids]
            for pid in [*(int(child) for line in children for child in line), *pids]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    assert not left, f"there are no servers {left}"


def destroy(place: Place, environment: str) -> None:
    """The environment goes; no server, volume, process, interface or mount of it is left."""
    place.ok("env", "destroy", environment, "--yes")
    left = traces(cloud_of(place), place.root)
    left.pop("notes")
    assert not any(left.values()), left
    assert place.servers() == []
    volumes = place.root / "cloud" / "nspawn" / "volumes"
    assert not volumes.exists() or not [*volumes.iterdir()]


def within(seconds: float) -> float:
    """A time that a machine keeps which has its processors for this; as much longer as others want them, too."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def told(text: str) -> None:
    """A figure, for whoever runs this to look."""
    print(text)
    if path := os.environ.get("VETRO_FIGURES"):
        with open(path, "a", encoding="utf-8") as out:
            out.write(text + "\n")
