"""`warm_up`: a task of ours, performed where tasks will be: what is made when code runs first is there then.

The zygote performs it once, so no task computes that again; a process that waits for its task performs it, too, so the
memory that tasks write to, which it shares until somebody does, is its own already. It is an ordinary deployment: of an
archive with an application that reports, in an environment with a network, as the service describes it. It knows no
tenant, asks nothing outside, and is forgotten when the session becomes that of a task (`Session.adopt`).
"""

from __future__ import annotations

import socket
from typing import Any

from vetro.engine.installation import Installation
from vetro.engine.task.perform import Performance
from vetro.engine.task.pipe_effects import PipeEffects
from vetro.engine.task.sessions import Sessions
from vetro.engine.task.task import Task
from vetro.engine.warm_up_package import package
from vetro.muranopl.package_protocols import CORE_LIBRARY
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.yaql.context import Limits

_EXTENSIONS = ("security-group", "router", "external-net", "port-security", "allowed-address-pairs", "quotas")
_TASK = Task(
    id="warm-up",
    kind="deploy",
    model={
        "Objects": {
            "?": {"type": "io.murano.Environment", "id": "warm-up", "metadata": {}},
            "name": "warm-up",
            "applications": [{"?": {"type": "io.vetro.warmup.App", "id": "app"}, "name": "app"}],
            "defaultNetworks": {
                "environment": {
                    "?": {"type": "io.murano.resources.NeutronNetwork", "id": "network"},
                    "name": "warm-up-network",
                },
                "flat": None,
            },
        },
        "ObjectsCopy": None,
    },
    settings={"networking": {"driver": "", "extensions": _EXTENSIONS}},
    requirements={"io.vetro.warmup/0.0.0": {"io.murano": "io.murano/0.0.0"}},
)


class _Sessions(Sessions):
    """Sessions over the package of the warm-up."""

    def packages(self, task: Task) -> list[Any]:
        return [package()]


def warm_up(installation: Installation) -> None:
    """Performs it. Raises RuntimeError where it fails."""
    ours, theirs = socket.socketpair()  # what it says fits into the buffer
    with ours, theirs:
        performance = Performance(_TASK, PipeEffects(ours.fileno()), installation, _Sessions())
        frame = performance.run()
    if frame["t"] != "done" or performance.session is None:
        raise RuntimeError(f"the warm-up failed: {frame}")
    # A task that gave this run's memory back would have to copy it first.
    performance.session.restart(Limits(), effects=InProcessEffects(), fixed={})
    performance.session.types.keep(CORE_LIBRARY)
    installation.linked.append(performance.session)
