"""What two servers with one database owe to people, asked of each of them and through their proxy.

``python two_servers.py STEP FIRST SECOND PROXY < FILE``, addresses as host:port; the file holds a token and the
password of its owner, ann. `script/try-containers` runs it inside a container, so it needs nothing but Python.
STEP: ``both`` while both live, ``one`` when the first was killed.
"""

from __future__ import annotations

import http.client
import http.cookiejar
import io
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from typing import Any

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.Note
Name: A note
Description: For two servers
Author: Vetro
Tags: []
Classes: {test.Note: Note.yaml}
"""
NOTE = """\
Name: Note
Namespaces:
  =: test
  std: io.murano
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, format('written by {0}', $.title))
      - sleep(1)
"""
ENDED = ("done", "failed", "cancelled", "killed", "diverged", "needs_person")


class Server:
    """One address."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self.token = token

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": self.token, "Content-Type": kind}
        asked = urllib.request.Request(f"http://{self.address}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path} at {self.address}: {error.code} {error.read().decode()}")
        return json.loads(text) if text else None

    def stream(self) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.address, timeout=120)
        connection.request("GET", "/v2/events", headers={"X-Auth-Token": self.token})
        return connection.getresponse()


def imported(server: Server) -> None:
    """The package is in the catalog, and its archive where all servers find it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("manifest.yaml", MANIFEST)
        file.writestr("Classes/Note.yaml", NOTE)
    part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
    sent = part + buffer.getvalue() + b"\r\n--x--\r\n"
    server.call("POST", "/v2/packages", sent, "multipart/form-data; boundary=x")


def followed(events: http.client.HTTPResponse, task: str) -> list[str]:
    """States of the task, as the stream tells them, up to its end."""
    states: list[str] = []
    while not states or states[-1] not in ENDED:
        line = events.readline().decode()
        if not line:
            sys.exit(f"the events ended before the task did: {states}")
        if line.startswith("data: ") and f'"{task}"' in line and '"state"' in line:
            states.append(json.loads(line[6:])["state"])
    return states


def deployed(first: Server, second: Server, name: str) -> None:
    """Each step at another server than the one before; what happens is watched where the task was not begun."""
    environment = first.call("POST", "/v2/environments", {"name": name})["id"]
    wanted = {"environment_id": environment, "class": "test.Note", "source": "class"}
    form = f"/v2/forms/{second.call('POST', '/v2/forms', wanted)['id']}"
    if first.call("POST", f"{form}/submit", {"answers": {"title": name}})["outcome"] != "ready":
        sys.exit("the form is not ready")
    session = second.call("POST", f"{form}/finish")["session_id"]
    events = second.stream()
    task = first.call("POST", f"/v2/sessions/{session}/deploy")["id"]
    states = followed(events, task)
    events.close()
    if (states[0], states[-1]) != ("queued", "done"):
        sys.exit(f"the deployment at {first.address}, seen at {second.address}: {states}")
    state = second.call("GET", f"/v2/tasks/{task}")["state"]
    if state != "done":
        sys.exit(f"it is done, but {second.address} says {state}")


def signed_in(first: Server, second: Server, password: str) -> None:
    """Signs in to the pages of one server, and opens one of the other, as browsers behind a proxy do."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    # One name for both, as the proxy has: cookies do not look at ports.
    page = opener.open(f"http://{first.address}/app/login", timeout=60).read().decode()
    (mark,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page))
    sent = urllib.parse.urlencode({"csrfmiddlewaretoken": mark, "name": "ann", "password": password}).encode()
    opener.open(f"http://{first.address}/app/login", sent, timeout=60).read()
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
    asked = urllib.request.Request(f"http://{second.address}/app/catalog/", headers={"Cookie": cookies})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        if answer.url.endswith("/app/catalog/") and "A note" in answer.read().decode():
            return
    sys.exit(f"who signed in at {first.address} is not known at {second.address}")


def main(step: str, *addresses: str) -> None:
    token, password = sys.stdin.read().split("\n")[:2]
    first, second, proxy = (Server(address, token) for address in addresses)
    if step == "both":
        imported(proxy)
        deployed(first, second, "here")
        deployed(second, first, "there")
        signed_in(first, second, password)
        deployed(proxy, proxy, "anywhere")
    else:
        for _ in range(10):
            proxy.call("GET", "/v2/environments")
        deployed(proxy, second, "afterwards")
        deployed(second, proxy, "at last")


if __name__ == "__main__":
    main(*sys.argv[1:])
