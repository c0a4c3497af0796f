"""Health on real servers, through the API of a running service with two workers.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import collections
import io
import json
import os
import signal
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.notices.receivers import WebReceiver
from tests.server.servekit import Service
from tests.support.pace import Pace
from tests.support.servers import real_servers, traces
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean

MANIFEST = """\
Format: 1.4
Type: Application
FullName: test.talker
Version: 1.0.0
Name: Talker
Require: {io.vetro: 1}
Classes: {test.Talker: Talker.yaml}
"""
TALKER = """\
Namespaces:
  {=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration, l: io.vetro.lifecycle}
Name: Talker
Extends: std:Application
Meta:
  - l:Health: {name: page, kind: http, port: port, path: /word, expect: [200], every: 10, grace: 20}
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  port: {Contract: $.int().notNull(), Default: 8080}
  uses: {Contract: $.class(Talker)}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - $.talk()
  talk:
    Scope: Public
    Body:
      - $command: format('mkdir -p /srv/say && echo hello > /srv/say/word && (systemctl is-active -q say ||
          systemd-run --unit=say python3 -m http.server {0} --directory /srv/say)', $.port)
      - conf:Linux.runCommand($.instance.agent, $command, 'Talk')
  hush:
    Scope: Public
    Body:
      - conf:Linux.runCommand($.instance.agent, 'systemctl stop say', 'Hush')
"""
#: Seconds in which the death of a server is seen, and in which what runs again is.
SEEN, BACK = 15, 60
#: It also says how it is, by a command and by a method.
ASKED = (
    TALKER.replace(
        "Properties:",
        "  - l:Health: {name: word, kind: command, run: 'cat /srv/say/word', every: 60, grace: 0}\nProperties:",
    )
    + """\
  mood:
    Meta: {l:HealthCheck: {grace: 0}}
    Body:
      - $text: conf:Linux.runCommand($.instance.agent, 'cat /srv/say/mood || echo well').stdout
      - If: $text.startsWith('well')
        Then:
          - Return: true
      - Return: {state: Degraded, text: $text}
  lose:
    Scope: Public
    Body:
      - conf:Linux.runCommand($.instance.agent, 'rm /srv/say/word; echo sad > /srv/say/mood', 'Lose')
"""
)


#: It says nothing of how it is; its port is open to everybody.
SILENT = (
    TALKER.replace(
        "  - l:Health: {name: page, kind: http, port: port, path: /word, expect: [200], every: 10, grace: 20}\n", ""
    )
    .replace("Meta:\n", "")
    .replace(
        "      - $.instance.deploy()\n",
        """\
      - $rule: dict(FromPort => $.port, ToPort => $.port, IpProtocol => tcp, External => true)
      - $.find(std:Environment).securityGroupManager.addGroupIngress(list($rule))
      - $.instance.deploy()
""",
    )
    + """\
  mute:
    Scope: Public
    Body:
      - conf:Linux.runCommand($.instance.agent, 'systemd-run --on-active=2 systemctl stop murano-agent', 'Mute')
"""
)


def archive(talker: str = TALKER) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("manifest.yaml", MANIFEST)
        file.writestr("Classes/Talker.yaml", talker)
    return data.getvalue()


class Place:
    """A service with one environment; requests go to /v2."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.folder = service.folder / "data"
        self.token = service.admin("token", "create", "admin", "-o", "value")

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": self.token, "Content-Type": kind}
        status, answer = self.service.send(method, f"/v2{path}", data, headers)
        assert status < 300, (method, path, status, answer[:2000])
        return json.loads(answer) if answer else None

    def upload(self, talker: str = TALKER) -> None:
        head = b'--b\r\nContent-Disposition: form-data; name="archive"; filename="t.zip"\r\n'
        body = head + b"Content-Type: application/zip\r\n\r\n" + archive(talker) + b"\r\n--b--\r\n"
        self.ask("POST", "/packages", body, "multipart/form-data; boundary=b")

    def deploy(self) -> str:
        id = self.ask("POST", "/environments", {"name": "talk"})["id"]
        session = self.ask("POST", f"/environments/{id}/sessions")["id"]
        path = f"/sessions/{session}/model"
        model = self.ask("GET", path)
        server = {"?": {"id": "s" * 32, "type": "io.murano.resources.LinuxMuranoInstance"}, "name": "web"}
        server |= {"flavor": "m1.small", "image": "debian-12-murano"}
        talker = {"?": {"id": "a" * 32, "type": "test.Talker", "name": "talker"}, "instance": server}
        self.ask("PUT", path, {**model, "services": [talker]})
        self.done(self.ask("POST", f"/sessions/{session}/deploy"))
        return str(id)

    def again(self, id: str) -> None:
        session = self.ask("POST", f"/environments/{id}/sessions")["id"]
        self.done(self.ask("POST", f"/sessions/{session}/deploy"))

    def act(self, id: str, method: str) -> None:
        actions = self.ask("GET", f"/environments/{id}/actions")["items"]
        (action,) = [row["id"] for row in actions if row["name"] == method]
        self.done(self.ask("POST", f"/environments/{id}/actions/{action}", {"args": {}}))

    def done(self, task: dict[str, Any]) -> None:
        for _ in range(1200):
            found = self.ask("GET", f"/tasks/{task['id']}")
            if found["final"]:
                assert found["state"] == "done", (found["kind"], found["state"], found["error"], found)
                return
            time.sleep(0.25)
        raise AssertionError(found)

    def until(self, id: str, state: str, seconds: float, text: str = "") -> float:
        """Seconds until the environment is so; more than it may take, on a machine of its own, fail."""
        pace = Pace()
        while True:
            told = self.ask("GET", f"/environments/{id}")["health"]
            took = pace.seconds
            if told["state"] == state and text in told["text"]:
                print(f"{state} after {pace}: {told['text']}")
                return took
            assert took < seconds, (state, told, str(pace), self.ask("GET", f"/environments/{id}/health"))
            time.sleep(0.25)

    def watcher(self) -> tuple[int, str]:
        """Process id of the worker that watches, and until when it is believed."""
        with sqlite3.connect(self.folder / "vetro.db") as database:
            newest = "SELECT worker, until FROM watch_watchmark WHERE worker <> '' ORDER BY until DESC"
            worker, until = database.execute(newest).fetchone()
        return int(worker.rsplit("-", 2)[1]), until

    def seen_by_watcher(self) -> bool:
        """Whether all that is told was seen by who watches now, not by the one before."""
        with sqlite3.connect(self.folder / "vetro.db") as database:
            newest = "SELECT label FROM watch_watchmark WHERE worker <> '' ORDER BY until DESC LIMIT 1"
            others = f"SELECT count(*) FROM watch_health WHERE state <> '' AND label <> ({newest})"
            return bool(database.execute(others).fetchone()[0] == 0)


@pytest.fixture
def place(tmp_path: Path, receiver: WebReceiver) -> Iterator[Place]:
    settings = {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(real_servers().folder)}
    settings |= {"VETRO_NOTICES__HOSTS": json.dumps(["*", receiver.host])}
    service = Service(tmp_path, VETRO_WORKER__EMBEDDED="2", **settings)
    cloud = tmp_path / "data" / "cloud"
    try:
        service.await_ready()
        yield Place(service)
    finally:
        service.end()
        collections.deque(clean(cloud), maxlen=0)
    assert not any(traces(cloud_id(cloud / "nspawn"), tmp_path).values()), "cleaning left something behind"


def notices(receiver: WebReceiver) -> list[dict[str, Any]]:
    """The events of what was told about something that is down."""
    told = [json.loads(body) for _, _, body in list(receiver.posts)]
    return [one["data"] for one in told if "is down" in json.dumps(one)]


def kill_server(folder: Path, wait: Callable[[float], None] = time.sleep) -> None:
    """All processes of the only server end, as with a failure of the machine."""
    (running,) = (folder / "cloud" / "nspawn" / "servers").glob("*/running.json")
    for pid, *_ in json.loads(running.read_text()).values():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_what_runs_what_does_not_and_who_watches(place: Place) -> None:
    place.upload()
    id = place.deploy()
    place.until(id, "running", 40)
    found = place.ask("GET", f"/environments/{id}/health")
    (component,) = found["components"]
    assert component["name"] == "talker"
    assert [(check["name"], check["state"]) for check in component["checks"]] == [("page", "running")]

    place.act(id, "hush")
    place.until(id, "down", 60, "page: no connection to")
    assert place.ask("GET", f"/environments/{id}")["status"] == "ready"  # a deployment has not failed
    place.act(id, "talk")
    place.until(id, "running", BACK)

    pid, _ = place.watcher()
    os.kill(pid, signal.SIGKILL)
    begun = time.monotonic()
    while place.watcher()[0] == pid:
        assert time.monotonic() - begun < 60
        time.sleep(0.25)
    print(f"another worker watches after {time.monotonic() - begun:.1f} s")
    while not place.seen_by_watcher():  # before it has looked it would start what it finds off, as after an outage
        assert time.monotonic() - begun < 60
        time.sleep(0.25)
    place.until(id, "running", 60 - (time.monotonic() - begun))

    kill_server(place.folder)
    place.until(id, "down", SEEN, "server 'web'")
    place.again(id)
    place.until(id, "running", BACK)
    states = [row["state"] for row in place.ask("GET", f"/environments/{id}/health")["changes"]]
    assert [state for state, after in zip(states, [*states[1:], ""], strict=True) if state != after] == [
        "running", "down", "running", "down", "running",
    ]  # fmt: skip


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_what_a_command_and_a_method_say_of_a_real_server(place: Place) -> None:
    """Down only after three failures that are a minute apart; a method is heard at once, when it is asked."""
    place.upload(ASKED)
    id = place.deploy()
    place.until(id, "running", BACK)
    (component,) = place.ask("GET", f"/environments/{id}/health")["components"]
    assert {(check["name"], check["state"]) for check in component["checks"]} == {
        ("page", "running"), ("word", "running"), ("mood", "running"),
    }  # fmt: skip
    place.act(id, "lose")
    begun = time.monotonic()
    found = dict[str, tuple[str, str]]()
    while set(found) != {"word", "mood"}:
        assert time.monotonic() - begun < 480, found
        (component,) = place.ask("GET", f"/environments/{id}/health")["components"]
        for check in component["checks"]:
            if check["name"] != "page" and check["state"] != "running" and check["name"] not in found:
                found[check["name"]] = check["state"], check["text"]
                print(f"{check['name']} is {check['state']} after {time.monotonic() - begun:.0f} s: {check['text']}")
        time.sleep(0.5)
    assert found["word"] == ("down", "it ended with 1: cat: /srv/say/word: No such file or directory")
    assert found["mood"] == ("degraded", "sad")
    place.until(id, "down", 60)
    kinds = {task["kind"] for task in place.ask("GET", "/tasks")["items"]}
    assert kinds == {"deploy", "action"}
    assert place.ask("GET", f"/environments/{id}")["status"] == "ready"


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_what_follows_where_the_author_says_nothing(place: Place) -> None:
    """A port that its security group opens to everybody, and its agent: degraded, and never down."""
    place.upload(SILENT)
    id = place.deploy()
    place.until(id, "running", BACK)

    def reached() -> set[str]:
        (component,) = place.ask("GET", f"/environments/{id}/health")["components"]
        return {check["name"] for check in component["checks"] if check["state"] == "running"}

    begun = time.monotonic()
    while reached() != {"agent", "tcp 8080"}:
        assert time.monotonic() - begun < 60, reached()
        time.sleep(0.25)
    place.act(id, "hush")
    place.until(id, "degraded", 120, "tcp 8080: no connection to")
    place.act(id, "talk")
    place.until(id, "running", 120)
    place.act(id, "mute")
    place.until(id, "degraded", 120, "the agent of server 'web' does not run")


def planned(place: Place, path: str, body: Any = None) -> dict[str, Any]:
    """The result of a plan."""
    task = place.ask("POST", path, body)
    place.done(task)
    result = place.ask("GET", f"/tasks/{task['id']}")["result"]
    assert isinstance(result, dict)
    return result


def drift(place: Place, id: str, wanted: list[str], seconds: float = 60.0) -> None:
    """Waits until these kinds of drift are told, and no others."""
    begun = time.monotonic()
    while True:
        found = place.ask("GET", f"/environments/{id}/drift")
        if not found["text"] and [item["kind"] for item in found["items"]] == wanted:
            print(f"drift {wanted} told after {time.monotonic() - begun:.1f} s")
            return
        assert time.monotonic() - begun < seconds, found
        time.sleep(0.25)


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_what_is_planned_is_what_is_done_and_what_ended_is_told_and_repaired(
    place: Place, receiver: WebReceiver
) -> None:
    place.upload()
    target = place.ask("POST", "/notices/targets", {"name": "ops", "kind": "webhook", "url": receiver.url})
    place.ask("POST", "/notices/rules", {"target_id": target["id"], "least": "warning"})
    id = place.deploy()
    drift(place, id, [])

    def plan() -> dict[str, Any]:
        session = place.ask("POST", f"/environments/{id}/sessions")["id"]
        return planned(place, f"/sessions/{session}/plan")

    healthy = plan()
    assert (healthy["objects"], healthy["stacks"], healthy["servers"]) == ([], [], [])
    assert [(one["server"], one["plan"]) for one in healthy["scripts"]] == [("web", "Talk")]

    kill_server(place.folder)
    place.until(id, "down", SEEN, "server 'web'")
    pace = Pace()
    while not notices(receiver):
        assert pace.seconds < BACK, [body for _, _, body in receiver.posts]
        time.sleep(0.25)
    assert notices(receiver)[0]["environment"]["name"] == "talk", notices(receiver)
    print(f"a notice of the death after {pace}")
    drift(place, id, ["server-ended"])
    for told in (plan(), planned(place, f"/environments/{id}/repair", {"plan": True})):
        assert [(one["name"], one["was"]) for one in told["servers"]] == [("web", "ended")]
        assert (told["objects"], told["stacks"], told["scripts"]) == ([], [], healthy["scripts"])
    place.done(place.ask("POST", f"/environments/{id}/repair"))
    newest = place.ask("GET", f"/environments/{id}/states")["items"][0]
    assert newest["kind"] == "repair"
    assert place.ask("GET", f"/environments/{id}/diff?from={newest['number'] - 1}")["items"] == []
    place.until(id, "running", BACK)
    drift(place, id, [])

    place.ask("PATCH", f"/environments/{id}", {"repair": "auto"})
    kill_server(place.folder)
    place.until(id, "down", SEEN, "server 'web'")
    begun = time.monotonic()
    while place.ask("GET", f"/tasks?environment={id}&kind=power")["items"] == []:
        assert time.monotonic() - begun < 60
        time.sleep(0.25)
    print(f"started without being asked after {time.monotonic() - begun:.1f} s")
    drift(place, id, [], 60)
