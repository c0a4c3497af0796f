"""A worker dies in an effect of which nobody can say whether it was done: people see it, and decide, at every door.

The package reads its configuration from the service's folder of class configurations, too.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Rocket
from tests.cli.remotekit import Installation, Remote
from tests.support.waiting import until

# A service of its own with three killed workers; tests of the service and its pages look at such tasks, too.
pytestmark = pytest.mark.campaign
#: Seconds after which what has to happen has not happened.
PATIENCE = 180
PAD = """\
Namespaces: {=: v, std: io.murano, rocket: test.rocket}
Name: Pad
Extends: std:Application
Properties:
  code: {Contract: $.string().notNull()}
  orbit: {Contract: $.int().notNull(), Usage: Config, Default: 0}
  said: {Contract: $.string(), Usage: Out}
  height: {Contract: $.int(), Usage: Out}
Methods:
  deploy:
    Body:
      - $.said: rocket:Rocket.launch($.code)
      - $.height: $.orbit
"""


class Pads:
    """A service with the plug-in; deployments whose worker dies in its effect."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rocket = Rocket(folder)
        (folder / "configs").mkdir()
        (folder / "configs" / "v.Pad-1.yaml").write_text("orbit: 400\n")
        self.tasks: dict[str, str] = {}
        self.pad = write_package(folder / "pad", {"v.Pad": PAD}, name="v", extra=Rocket.REQUIRE)
        self.installation = Installation(
            folder, VETRO_ENGINE__CLASS_CONFIGS=str(folder / "configs"), **self.rocket.environ
        )

    def die_in(self, remote: Remote, *codes: str) -> None:
        """Deploys a pad each and kills the worker in their effects, until the tasks wait for a person."""
        self.rocket.silent.touch()
        for code in codes:
            words = ("deploy", str(self.pad), "--env", code, "--set", f"code={code}", "--detach")
            self.tasks[code] = remote.ok(*words).stdout.strip()
        until(lambda: all(self.rocket.launches(code) == 1 for code in codes), PATIENCE)
        for pid in self.installation.service.everybody():
            if _is_worker(pid):
                os.kill(pid, signal.SIGKILL)
        self.rocket.silent.unlink()
        tasks = self.tasks.values()
        until(lambda: all(remote_task(remote, task)["state"] == "needs_person" for task in tasks), PATIENCE)


def _is_worker(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"dispatch.worker" in line or b"\0worker\0" in line


@pytest.fixture(scope="module")
def pads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pads]:
    patch = pytest.MonkeyPatch()
    made = Pads(tmp_path_factory.mktemp("pads"))
    # The command reads classes of packages with native parts, too.
    patch.syspath_prepend(str(made.rocket.site))
    patch.setenv("PYTHONPATH", str(made.rocket.site))
    try:
        made.installation.prepare()
        made.die_in(Remote(made.installation, made.folder, "ann"), "apollo", "gemini", "mercury")
        yield made
    finally:
        made.installation.end()
        patch.undo()


@pytest.fixture
def remote(pads: Pads, here: Path) -> Remote:
    return Remote(pads.installation, here, "ann")


def remote_task(remote: Remote, task: str, path: str = "", body: Any = None) -> dict[str, Any]:
    """The task as the API shows it, or the answer to what is sent to ``path``."""
    headers = {"X-Auth-Token": remote.installation.tokens["ann"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    status, answer = remote.service.send("GET" if body is None else "POST", f"/v2/tasks/{task}{path}", data, headers)
    assert status == 200, (status, answer)
    found: dict[str, Any] = json.loads(answer)
    return found


def pad_of(remote: Remote, name: str) -> dict[str, Any]:
    (pad,) = remote.data("env", "show", name, "--model", "-1")["Objects"]["applications"]
    return dict(pad)


def test_the_command_line_asks_and_says_what_was_decided(pads: Pads, remote: Remote) -> None:
    task = pads.tasks["apollo"]
    said = remote.refused("env", "watch", "apollo")
    assert "waiting for a decision" in said and "vetro env resolve apollo KEY --context s --done|--redo" in said
    asked = re.search(r"^  (\S+)  plugin:test-rocket:launch  (.*)$", said, re.MULTILINE)
    assert asked is not None and "apollo" in asked[2], said
    assert remote.data("env", "show", "apollo")["status"] == "deploying"
    assert "no effect" in remote.refused("env", "resolve", "apollo", "0/99", "--done").lower()
    assert "the task goes on" in remote.ok("env", "resolve", "apollo", asked[1], "--done").output
    remote.ok("env", "watch", task, "-q")
    assert pads.rocket.launches("apollo") == 1  # not done again
    pad = pad_of(remote, "apollo")
    assert (pad["said"], pad["height"]) == (None, 400)


def test_the_api_shows_it_and_takes_the_decision(pads: Pads, remote: Remote) -> None:
    task = pads.tasks["gemini"]
    (waits,) = remote.data("env", "show", "gemini")["tasks"][0]["waits"]
    assert waits["kind"] == "person" and waits["seconds"] >= 0, "as its text says"
    (decision,) = remote_task(remote, task)["decisions"]
    assert (decision["kind"], decision["args"]) == ("plugin:test-rocket:launch", {"args": ["gemini"], "kwargs": {}})
    answer = {"key": decision["key"], "decision": "done", "answer": "a person saw it"}
    assert remote_task(remote, task, "/resolve", answer)["decisions"] == []
    remote.ok("env", "watch", task, "-q")
    assert (pads.rocket.launches("gemini"), pad_of(remote, "gemini")["said"]) == (1, "a person saw it")
    assert remote.data("env", "show", "gemini")["tasks"][0]["waits"] == []


def test_the_page_shows_it_and_takes_the_decision(pads: Pads, remote: Remote) -> None:
    task = pads.tasks["mercury"]
    browser = Browser(remote)
    environment = remote_task(remote, task)["environment_id"]
    page = browser.get(f"/app/environments/{environment}/tasks/{task}/")
    assert "plugin:test-rocket:launch" in page and "mercury" in page
    (decision,) = remote_task(remote, task)["decisions"]
    browser.post(f"/app/environments/{environment}/tasks/{task}/resolve", page, key=decision["key"], decision="redo")
    remote.ok("env", "watch", task, "-q")
    assert (pads.rocket.launches("mercury"), pad_of(remote, "mercury")["said"]) == (2, "launched mercury")


class Browser:
    """Somebody who is signed in at the pages."""

    def __init__(self, remote: Remote) -> None:
        from tests.cli.remotekit import PASSWORD

        self._remote = remote
        self._cookies: dict[str, str] = {}
        self.post("/app/login", self.get("/app/login"), name="ann", password=PASSWORD)

    def get(self, path: str) -> str:
        """The text of a page."""
        status, answer = self._send("GET", path, None, {})
        assert status == 200, (path, status)
        return unescape(answer)

    def post(self, path: str, page: str, **fields: str) -> None:
        """Sends a form of a page; the answer leads on."""
        from urllib.parse import urlencode

        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None, page[:2000]
        fields["csrfmiddlewaretoken"] = token[1]
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Referer": self._remote.url + path,
                "Origin": self._remote.url}  # fmt: skip
        status, answer = self._send("POST", path, urlencode(fields).encode(), kind)
        assert status in (302, 303), (path, status, answer[:2000])

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str]:
        import http.client

        connection = http.client.HTTPConnection(self._remote.url.removeprefix("http://"), timeout=30)
        try:
            cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
            connection.request(method, path, body, {**headers, "Cookie": cookies, "Accept": "text/html"})
            answer = connection.getresponse()
            for line in answer.headers.get_all("Set-Cookie") or ():
                found = re.match(r"([^=]+)=([^;]*)", line)
                assert found is not None
                self._cookies[found[1]] = found[2]
            return answer.status, answer.read().decode()
        finally:
            connection.close()
