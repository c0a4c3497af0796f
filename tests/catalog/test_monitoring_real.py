"""Monitoring on a real server: asked, alerts told, killed, backed up, destroyed, restored, upgraded, gone."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.life import action, destroy, hosts, kill, told
from tests.catalog.scripts import CATALOG
from tests.catalog.web_client import Browser, seen
from tests.cli.deploykit import Place

PASSWORD = "correct-Horse-7"
TOKEN = "T0-a-secret-address"


class Page:
    """The page of the monitoring, and its API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, path: str, password: str = PASSWORD) -> str:
        word = base64.b64encode(f"admin:{password}".encode()).decode()
        return Browser().open(self.url + path, Authorization=f"Basic {word}")

    def api(self, name: str, **words: object) -> Any:
        return json.loads(self.open(f"api/v1/{name}?{urllib.parse.urlencode(words)}"))["data"]

    def value(self, query: str) -> str | None:
        """The only value of a query."""
        found = self.api("query", query=query)["result"]
        return str(found[0]["value"][1]) if len(found) == 1 else None

    def checksum(self, begin: int, end: int) -> str:
        """Of all that was measured of Redis between two moments."""
        found = self.api("query_range", query='{job="cache"}', start=begin, end=end, step=1)["result"]
        rows = sorted(json.dumps(one, sort_keys=True) for one in found)
        return hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else "nothing"


def await_value(page: Page, query: str, wanted: str | None, patience: float = 120) -> None:
    """Waits until a query has this value."""
    await_that(lambda: page.value(query) == wanted, f"{query} is {wanted}", patience)


def await_that(test: Callable[[], bool], what: str, patience: float = 120) -> None:
    """Waits until something is so; who does not answer yet is asked again."""
    end, error = time.monotonic() + patience, None
    while True:
        try:
            if test():
                return
        except OSError as caught:
            error = caught
        assert time.monotonic() < end, f"{what}: {error}"
        time.sleep(0.5)


#: Somebody who is told of alerts: what comes is a line of standard output each.
LISTENER = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(json.dumps({"path": self.path, "status": body["status"], "alerts": body["alerts"]}), flush=True)
        self.send_response(200)
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", 8099), Handler).serve_forever()
"""


@contextmanager
def listener(place: Place, name: str, told: Path) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Listens in the network of a server, which reaches nobody outside; gives what came with a status."""
    with told.open("wb") as out:
        words = ["nsenter", "-t", first_of(place, name), "-n", "--", sys.executable, "-c", LISTENER]
        child = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
    try:

        def came(status: str) -> list[dict[str, Any]]:
            rows = [json.loads(line) for line in told.read_text().splitlines()]
            assert {row["path"] for row in rows} <= {f"/{TOKEN}"}
            return [row for row in rows if row["status"] == status]

        yield came
    finally:
        child.terminate()
        child.wait()


def first_of(place: Place, name: str) -> str:
    """The number of the first process of a server: the first one that lives in namespaces of its own."""
    for folder in (place.root / "cloud" / "nspawn" / "servers").iterdir():
        if json.loads((folder / "server.json").read_text())["name"] != name:
            continue
        left = [str(pid) for pid, *_ in json.loads((folder / "running.json").read_text()).values()]
        while left:
            pid = left.pop(0)
            if os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):
                return pid
            left += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    raise AssertionError(f"there is no server {name}")


def inside(place: Place, name: str, *words: str) -> None:
    """Runs a program in a server, as its administrator does."""
    first = first_of(place, name)
    assert os.readlink(f"/proc/{first}/ns/mnt") != os.readlink("/proc/self/ns/mnt"), "never on this machine"
    subprocess.run(["nsenter", "-t", first, "-U", "-m", "-u", "-i", "-n", "-p", "--", *words], check=True, timeout=120)


def deploy(place: Place, version: str, **more: object) -> tuple[str, Page]:
    """A Redis and who watches it: its address, and its page."""
    cache = ["deploy", str(CATALOG / "Redis" / "1.1.0"), "--env", "shop", "--app", "cache", "--driver", "nspawn"]
    chosen = {"name": "cache", "password": "first-Password-1", "memory": 64, "server.flavor": "m1.tiny"}
    place.ok(*cache, *(word for name, one in chosen.items() for word in ("--set", f"{name}={one}")))
    chosen = {"name": "mon", "password": PASSWORD, "interval": 1, "targets": '["cache"]', "server.flavor": "m1.small"}
    words = [word for name, one in {**chosen, **more}.items() for word in ("--set", f"{name}={one}")]
    begun = time.monotonic()
    place.ok("deploy", str(CATALOG / "Monitoring" / version), "--env", "shop", "--app", "mon", *words)
    print(f"deployed in {time.monotonic() - begun:.1f} s")
    address = hosts(place, "shop")["mon-1"]
    page = Page(f"http://{address}/")
    await_value(page, 'up{job="cache"}', "1")
    await_value(page, "redis_up", "1")
    return address, page


@pytest.mark.campaign
@pytest.mark.timeout(3000)  # dozens of commands, alerts that take a minute, on a machine that does other things
def test_a_page_for_who_knows_the_password(place: Place) -> None:
    address, page = deploy(place, "1.0.0")

    # Measured and watched, for who knows the password; what changes Prometheus is for nobody.
    rules = {rule["name"] for group in page.api("rules")["groups"] for rule in group["rules"]}
    assert {"RedisDown", "TargetDown", "MonitoringDiskFull"} <= rules
    assert "Prometheus" in page.open("graph")
    assert seen(page.url)[0] == 401 and seen(f"{page.url}-/ready")[0] == 200
    with pytest.raises(OSError, match="401"):
        page.open("graph", "wrong-Password-1")
    for path in ("api/v1/admin/tsdb/snapshot", "api/v1//admin/tsdb/snapshot", "api/v1/%61dmin/tsdb/snapshot", "-/quit"):
        with pytest.raises(OSError, match="403"):
            page.open(path)
    for port in (9090, 9093, 9094, 9100):
        with pytest.raises(OSError), socket.create_connection((address, port), 5):
            pass

    begun = time.monotonic()
    assert "Prometheus measures" not in place.ok("env", "deploy", "shop").output, "a second deployment changes nothing"
    print(f"deployed again in {time.monotonic() - begun:.1f} s")

    # A newer version, taken back, and taken again.
    upgrade = ["upgrade", "shop", "--to", str(CATALOG / "Monitoring" / "1.1.0")]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    assert action(place, "shop", "mon", "listSilences") == []
    place.ok("env", "undo", "shop", "--yes")
    place.refused("env", "action", "shop", "listSilences", "--app", "mon")
    await_value(page, 'up{job="cache"}', "1")
    place.ok(*upgrade, "--no-guard")
    await_value(page, 'up{job="cache"}', "1")
    await_value(page, "count(up == 1)", "4")
    found = action(place, "shop", "mon", "status")["targets"]
    assert {row["application"] for row in found if row["state"] == "up"} == {"monitoring", "cache"}, found
    for port in (9090, 9093, 9094, 9100):
        with pytest.raises(OSError), socket.create_connection((address, port), 5):
            pass

    destroy(place, "shop")


@pytest.mark.campaign
@pytest.mark.timeout(3000)
def test_who_dies_is_told(place: Place) -> None:
    _, page = deploy(place, "1.1.0", webhook=f"http://127.0.0.1:8099/{TOKEN}")
    with listener(place, "mon-1", place.root / "told") as told:
        # Who dies is told to people, and that it is well again.
        kill(place, "cache-1")
        await_value(page, 'up{job="cache"}', "0")
        await_that(lambda: bool(told("firing")), "an alert is told", 240)
        (alert, *_) = told("firing")[0]["alerts"]
        assert (alert["labels"]["alertname"], alert["labels"]["job"]) == ("TargetDown", "cache"), alert
        (row,) = action(place, "shop", "mon", "listAlerts")
        assert (row["alert"], row["application"], row["silenced"]) == ("TargetDown", "cache", False)
        silence = ["--arg", "alert=TargetDown", "--arg", "application=cache", "--arg", 'comment=it\'s "known"']
        made = action(place, "shop", "mon", "silence", *silence)
        (there,) = action(place, "shop", "mon", "listSilences")
        assert (there["id"], there["application"], there["comment"]) == (made["id"], "cache", 'it\'s "known"')
        await_that(lambda: bool(action(place, "shop", "mon", "listAlerts")[0]["silenced"]), "the alert is silenced")
        place.ok("env", "action", "shop", "endSilence", "--app", "mon", "--arg", f"id={made['id']}")
        assert action(place, "shop", "mon", "listSilences") == []
        place.ok("env", "deploy", "shop")
        await_value(page, 'up{job="cache"}', "1")
        await_that(lambda: bool(told("resolved")), "the end of the alert is told", 240)
    shown = place.ok("env", "log", "shop").output + place.ok("env", "show", "shop").output
    assert PASSWORD not in shown and TOKEN not in shown

    destroy(place, "shop")


@pytest.mark.campaign
@pytest.mark.timeout(3000)
def test_software_that_stops_fires_the_rule_of_its_application(place: Place) -> None:
    """The servers go on, and so do their exporters: what fires is the applications' own rules, and nobody else's."""
    site = ["deploy", str(CATALOG / "StaticSite" / "1.1.0"), "--env", "shop", "--app", "site", "--driver", "nspawn"]
    chosen = {"name": "site", "page": "hello", "server.name": "site-1", "server.flavor": "m1.tiny"}
    place.ok(*site, *(word for name, one in chosen.items() for word in ("--set", f"{name}={one}")))
    _, page = deploy(place, "1.1.0", targets='["cache", "site"]')
    await_value(page, 'nginx_up{serves="files"}', "1")

    def firing() -> set[tuple[str, str]]:
        """Names and severities of the alerts that Prometheus says are firing."""
        rows = [one for one in page.api("alerts")["alerts"] if one["state"] == "firing"]
        return {(row["labels"]["alertname"], row["labels"]["severity"]) for row in rows}

    assert firing() == set()
    begun = time.monotonic()
    inside(place, "site-1", "systemctl", "stop", "nginx")
    inside(place, "cache-1", "systemctl", "stop", "redis-server")
    wanted = {("StaticSiteDown", "critical"), ("RedisDown", "critical")}
    await_that(lambda: firing() == wanted, f"{wanted} fire", 240)
    told(f"alerts of StaticSite and Redis fire {time.monotonic() - begun:.0f} s after their software stopped")
    assert {row["alert"] for row in action(place, "shop", "mon", "listAlerts")} == {name for name, _ in wanted}
    place.ok("env", "deploy", "shop")
    await_that(lambda: firing() == set(), "nothing fires once a deployment has started them", 240)
    destroy(place, "shop")


@pytest.mark.campaign
@pytest.mark.timeout(3000)
def test_what_is_destroyed_comes_back(place: Place) -> None:
    _, page = deploy(place, "1.1.0")
    place.ok("env", "action", "shop", "setRetention", "--app", "mon", "--arg", "days=30")
    await_that(lambda: page.api("status/flags")["storage.tsdb.retention.time"] == "30d", "measurements are kept longer")

    # What is destroyed comes back from a backup, and from nothing else.
    await_value(page, 'up{job="cache"}', "1")
    time.sleep(15)
    moment = int(time.time()) - 3
    before = page.checksum(moment - 10, moment)
    assert before != "nothing" and page.checksum(moment - 10, moment) == before
    kept = action(place, "shop", "mon", "backup")
    ruin = "systemctl stop prometheus; rm -rf /var/lib/vetro-monitoring/metrics/*; systemctl start prometheus"
    inside(place, "mon-1", "sh", "-ec", ruin)
    await_value(page, 'up{job="cache"}', "1")
    assert page.checksum(moment - 10, moment) == "nothing"
    assert action(place, "shop", "mon", "restoreBackup")["name"] == kept["name"]
    await_value(page, 'up{job="cache"}', "1")
    assert page.checksum(moment - 10, moment) == before

    # A server that dies is told, and has what it had when it is started again.
    kill(place, "mon-1")
    assert "has ended by itself" in place.ok("env", "health", "shop").stdout
    place.ok("env", "deploy", "shop")
    await_value(page, 'up{job="cache"}', "1")
    assert page.checksum(moment - 10, moment) == before
    destroy(place, "shop")
