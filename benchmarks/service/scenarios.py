"""What is asked of the service, what Murano did, and the goal."""

from __future__ import annotations

import io
import json
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.service import wrk
from benchmarks.service.client import request, run
from benchmarks.service.running import Running, service

CLIENTS = (1, 8)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of request. ``murano``: requests a second recorded with 1 and 8 clients; None where it was not."""

    name: str
    path: Callable[[dict[str, Any]], str]
    murano: tuple[float | None, float | None]
    method: str = "GET"
    #: `%d` in it becomes a number that rises with each request.
    body: str = ""
    status: int = 200


#: Ten times Murano's rate is the goal.
FACTOR = 10
SCENARIOS = (
    Scenario("GET /", lambda made: "/", (None, 1750), status=300),
    Scenario("GET /health", lambda made: "/health", (None, None)),
    Scenario("GET categories", lambda made: "/v1/catalog/categories", (None, None)),
    Scenario("GET environments (10)", lambda made: "/v1/environments", (56, 83)),
    Scenario("GET environment", lambda made: f"/v1/environments/{made['environment']}", (142, 129)),
    Scenario("GET packages (10)", lambda made: "/v1/catalog/packages", (50, 66)),
    Scenario("GET packages, class_name=", lambda made: "/v1/catalog/packages?class_name=bench.p3.App", (126, 95)),
    Scenario("GET packages, search=", lambda made: "/v1/catalog/packages?search=bench", (70, 67)),
    Scenario("GET package", lambda made: f"/v1/catalog/packages/{made['package']}", (250, 220)),
    Scenario("POST configure", lambda made: f"/v1/environments/{made['environment']}/configure", (64, None), "POST"),
    Scenario(
        "POST environment",
        lambda made: "/v1/environments",
        (None, None),
        "POST",
        '{"name": "made-RUN-%d"}',
    ),
)


def measure(*, small: bool = False) -> dict[str, Any]:
    """Figures by scenario and number of clients, and the memory before and after."""
    found: dict[str, Any] = {"generator": "wrk" if wrk.there() else "client.py", "scenarios": {}}
    with service() as running:
        made = prepare(running)
        found["memory_before_mib"] = round(running.memory_mib(), 1)
        for scenario in SCENARIOS:
            rows = found["scenarios"][scenario.name] = {}
            for index, clients in enumerate(CLIENTS):
                rows[str(clients)] = _measure(running, scenario, made, clients, 0.5 if small else 4.0, index)
        found["memory_after_mib"] = round(running.memory_mib(), 1)
    return found


def prepare(running: Running) -> dict[str, Any]:
    """Ten environments and ten packages, as Murano had."""
    made: dict[str, Any] = {}
    for number in range(10):
        made["environment"] = running.call("POST", "/v1/environments", {"name": f"env{number}"})["id"]
        archive = _archive(f"bench.p{number}")
        boundary = "vetro-benchmark"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="f"; filename="f.zip"\r\n\r\n'.encode()
        body = head + archive + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        made["package"] = running.call("POST", "/v1/catalog/packages", body=body, kind=kind)["id"]
    return made


def _archive(name: str) -> bytes:
    manifest = (
        f"Format: 1.4\nType: Application\nFullName: {name}\nName: {name}\nDescription: bench\nAuthor: bench\n"
        f"Tags: [bench]\nClasses: {{{name}.App: App.yaml}}\n"
    )
    code = f"Namespaces: {{=: {name}, std: io.murano}}\nName: App\nExtends: std:Application\n"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("manifest.yaml", manifest)
        file.writestr("Classes/App.yaml", code)
    return data.getvalue()


def _measure(
    running: Running, scenario: Scenario, made: dict[str, Any], clients: int, seconds: float, index: int
) -> dict[str, Any]:
    headers = {"X-Auth-Token": running.token, "Accept": "application/json", "Content-Type": "application/json"}
    path, body = scenario.path(made), scenario.body.replace("RUN", str(time.monotonic_ns()))

    def make(number: int) -> bytes:
        return request(scenario.method, path, headers, body.replace("%d", f"m{number}").encode())

    # Every thread of the service opens its own connection to the database with its first request.
    load = run(running.port, make, clients, max(0.5, seconds / 8))
    if not wrk.there():
        load = run(running.port, lambda number: make(number + 1_000_000), clients, seconds)
    row: dict[str, Any] = {
        "rate": round(load.rate, 1),
        "p50_ms": round(load.percentile(0.5) * 1000, 2),
        "p99_ms": round(load.percentile(0.99) * 1000, 2),
    }
    wrong = {status: count for status, count in load.statuses.items() if status != scenario.status}
    if wrong:
        row["wrong"] = f"answers with status {wrong}"
    elif wrk.there():
        row = wrk.run(running.port, scenario.method, path, headers, body, clients, seconds)
    row["murano"] = scenario.murano[index]
    return row


if __name__ == "__main__":
    json.dump(measure(small="--small" in sys.argv), sys.stdout)
