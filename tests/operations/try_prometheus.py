"""Dashboards and alerts in a real Prometheus that asks real servers: `script/try-metrics` runs it.

No test of each run, for Prometheus brings more packages than all others together; `test_metrics` looks at names and
labels.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.operations.prometheus import FILES, Prometheus, watching
from tests.operations.test_metrics import _BOARD
from tests.server.servekit import Service
from tests.server.tasks.shop import archive
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)
#: What Grafana's units take: counts, seconds, parts of one, how many a second.
_UNITS = {"short", "s", "percentunit", "reqps"}
_REFUSED = "Answers that were refused or failed"


def test_files_are_valid() -> None:
    program = shutil.which("promtool")
    assert program is not None, "promtool is not installed"
    for words in (
        ["check", "rules", str(FILES / "alerts.yml")],
        ["check", "config", str(FILES / "prometheus.yml")],
        ["test", "rules", str(Path(__file__).with_name("alerts.yml"))],
    ):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


class Site:
    """Two servers, one of them with a worker; the first shows what a person does."""

    def __init__(self, folder: Path, database: str) -> None:
        shared = {
            "VETRO_DATABASE__URL": database,
            "VETRO_CLOUD__DRIVER": "record",
            "VETRO_CLOUD__DIRECTORY": str(folder / "cloud"),
            "VETRO_STORAGE__BLOBS": str(folder / "blobs"),
            "VETRO_SECRETS__KEY_FILE": str(folder / "keys"),
            "VETRO_WORKER__TASKS": "1",
        }
        self.services: list[Service] = []
        for name, workers in (("one", "0"), ("two", "1")):
            (folder / name).mkdir()
            self.services.append(Service(folder / name, "--workers", workers, **shared))
            self.services[-1].await_ready(200)
        one = self.services[0]
        one.admin("project", "create", "demo")
        one.admin("user", "create", "ann", "--project", "demo")
        self.token = one.admin("token", "create", "ann", "-o", "value")

    def addresses(self) -> list[str]:
        return [json.loads(one.ready.read_text())["url"].removeprefix("http://") for one in self.services]

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json", server: int = 0) -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": self.token, "Content-Type": kind}
        status, text = self.services[server].send(method, path, data, headers)
        assert status < 300, (path, status, text)
        return json.loads(text) if text else None

    def deploy(self, name: str, **answers: Any) -> str:
        """A shop in an environment of its own; the id of the task."""
        environment = self.call("POST", "/v2/environments", {"name": name})["id"]
        wanted = {"environment_id": environment, "class": "test.Shop", "source": "class"}
        at = f"/v2/forms/{self.call('POST', '/v2/forms', wanted)['id']}"
        done = self.call("POST", f"{at}/submit", {"answers": {"title": name, **answers}})
        assert done["outcome"] == "ready", done
        session = self.call("POST", f"{at}/finish")["session_id"]
        return str(self.call("POST", f"/v2/sessions/{session}/deploy")["id"])

    def state(self, task: str) -> str:
        return str(self.call("GET", f"/v2/tasks/{task}")["state"])

    def end(self) -> None:
        for service in self.services:
            service.end()


def test_every_panel_and_every_alert(tmp_path: Path, postgresql: Callable[[], str]) -> None:
    site = Site(tmp_path, postgresql())
    try:
        with watching(site.addresses(), tmp_path) as prometheus:
            until(lambda: prometheus.number('sum(up{job="vetro"})') == 2, 60)
            _used(site, prometheus)
            _panels(prometheus)
            _numbers(prometheus)
            _alerts(prometheus, site)
    finally:
        site.end()


def _used(site: Site, prometheus: Prometheus) -> None:
    """What leaves traces: deployments that end, fail, run and wait; answers of each API and of each kind."""
    part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
    sent = part + archive() + b"\r\n--x--\r\n"
    assert site.call("POST", "/v2/packages", sent, "multipart/form-data; boundary=x")["imported"]
    good, bad = site.deploy("good"), site.deploy("bad", fail=True)
    until(lambda: (site.state(good), site.state(bad)) == ("done", "failed"), 200)
    long = site.deploy("long", wait=3000)
    until(lambda: site.state(long) == "running", 100)
    site.deploy("later")
    # Twice: the first of its kind is where Prometheus begins to count.
    for count in (5, 10):
        for server in (0, 1):
            for _ in range(5):
                site.call("GET", "/v1/environments", server=server)
                site.services[server].get("/app/login")
                assert site.services[server].get("/v2/environments/absent", **{"X-Auth-Token": site.token})[0] == 404
        _counted(prometheus, [count, count])


def _counted(prometheus: Prometheus, wanted: list[float]) -> None:
    asked = 'sum by (instance) (vetro_requests_total{api="v1"})'
    until(lambda: [value for _, value in prometheus.value(asked)] == wanted, 60)


def _panels(prometheus: Prometheus) -> None:
    shown: dict[str, list[tuple[str, float]]] = {}
    for panel in _BOARD["panels"]:
        assert panel["fieldConfig"]["defaults"]["unit"] in _UNITS
        for target in panel["targets"]:
            expression = target["expr"]
            until(lambda asked=expression: prometheus.value(asked), 60)
            for labels, value in prometheus.value(expression):
                if math.isnan(value):
                    continue  # the kind or API did nothing lately: a gap
                assert math.isfinite(value) and value >= 0, (panel["title"], labels, value)
                legend = re.sub(
                    r"\{\{(\w+)\}\}", lambda name, at=labels: at.get(name.group(1), ""), target["legendFormat"]
                )
                shown.setdefault(panel["title"], []).append((legend, value))
                assert panel["fieldConfig"]["defaults"]["unit"] != "percentunit" or value <= 1
    for title, series in shown.items():
        print(f"{title}: " + ", ".join(f"{legend} {value:.3g}" for legend, value in series))
    for title, series in shown.items():
        assert len({legend for legend, _ in series}) == len(series), f"{title}: two lines of one name"


def _some(prometheus: Prometheus, expression: str) -> bool:
    return any(not math.isnan(value) for _, value in prometheus.value(expression))


def _numbers(prometheus: Prometheus) -> None:
    """Two servers that say the same are not added up, and two that count for themselves are."""
    board = {panel["title"]: panel["targets"][0]["expr"] for panel in _BOARD["panels"]}
    assert prometheus.number(board["Servers"]) == 2
    assert prometheus.number(board["Workers"]) == 1
    assert prometheus.number(board["Tasks that wait"]) == 1
    assert prometheus.number(board["Wait for a person"]) == 0
    until(lambda: prometheus.number(board["Errors"]) < 1, 30)
    ended = {labels["state"]: value for labels, value in prometheus.value(board["Tasks ended"])}
    assert 0.5 < ended["done"] < 4 and 0.5 < ended["failed"] < 4, ended
    refused = {labels["status"]: value for labels, value in prometheus.value(board[_REFUSED])}
    assert refused["404"] > 0, refused


def _alerts(prometheus: Prometheus, site: Site) -> None:
    def states() -> dict[str, str]:
        (group,) = prometheus.ask("rules")["groups"]
        assert all(rule["health"] == "ok" for rule in group["rules"]), group
        return {rule["name"]: rule["state"] for rule in group["rules"]}

    until(lambda: prometheus.ask("rules")["groups"][0]["rules"][0]["health"] != "unknown", 30)
    assert states()["VetroServerDown"] == states()["VetroNoWorker"] == "inactive"
    site.services[1].end()
    until(lambda: states()["VetroServerDown"] == "pending", 60)  # in two minutes it fires
    until(lambda: states()["VetroNoWorker"] == "pending", 100)  # forgotten when it left, or a minute later
