"""Makes attempts as the user who runs this program and prints their results as JSON.

Usage: ``python ordinary.py REQUEST`` with REQUEST as JSON: {package, natives, path, runs: [[names, where], …]}.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    request = json.loads(sys.argv[1])
    from vetro.engine.task.launcher import Launcher, TaskProcessEnded
    from vetro.engine.task.task import Task

    results: list[object] = []
    with Launcher(natives=[request["natives"]], path=request["path"]) as launcher:
        layers = {layer["name"]: layer["active"] for layer in launcher.layers()}
        with launcher.start() as victim:
            for names, where in request["runs"]:
                task = Task(
                    id="x",
                    kind="call",
                    packages=[request["package"]],
                    method="attemptAll",
                    on_class={"name": "t.Attacker"},
                    args={"names": names, "where": str(victim.pid) if where == "victim" else where},
                )
                with launcher.start() as process:
                    process.send({"t": "task", "task": task.as_json()})
                    try:
                        results.append(process.receive(60))
                    except TaskProcessEnded:
                        end = process.wait(60)
                        results.append({"signal": end.signal if end else None})
    print(json.dumps({"user": os.geteuid(), "layers": layers, "results": results}))


if __name__ == "__main__":
    main()
