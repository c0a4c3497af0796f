"""A small OpenStack in this process: Keystone and Heat, and of the others what is listed; it can lose answers and fail.

Only what `vetro_openstack` uses; a request to the others that openstacksdk does not describe is an error at the
end. Operations on stacks end after they were looked at ``looks`` times.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.plugins.openstack.documented import objection

Reply = tuple[int, Any]
_PORTS = {
    "orchestration": "heat",
    "compute": "nova",
    "network": "neutron",
    "image": "glance",
    "block-storage": "cinder",
}


class Fake(ThreadingHTTPServer):
    """Tests change its attributes and read ``asked``."""

    daemon_threads = True

    def __init__(self, *services: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.services = ("orchestration", *services)
        self.regions = ["One"]
        #: (method, path) of every request but those to Keystone, and what was signed in with.
        self.asked: list[tuple[str, str]] = []
        self.logins: list[dict[str, Any]] = []
        self.password = "secret"
        #: Names of stacks -> records; their ``parts`` are what was sent.
        self.stacks: dict[str, dict[str, Any]] = {}
        self.looks = 2
        #: Why operations fail from now on; '' they do not.
        self.failing = ""
        #: (method, part of the path) -> status: 0 does it and hangs up, 1 hangs up at once. Each is used once.
        self.trouble: list[tuple[str, str, int]] = []
        #: service -> path without the version -> what GET answers.
        self.lists: dict[str, dict[str, Any]] = {}
        #: What was sent to services but Heat: (service, path, body); answers by (service, path).
        self.posted: list[tuple[str, str, Any]] = []
        self.answers: dict[tuple[str, str], Any] = {}
        #: Servers that can be started and stopped: id -> record; and what was done with them: (id, action).
        self.servers: dict[str, dict[str, Any]] = {}
        self.acted: list[tuple[str, str]] = []
        #: The version of its API that the last request asked a service for.
        self.version = ""
        #: Requests that the real services would not understand.
        self.strange: list[str] = []
        self._ids = itertools.count(1)
        self._stamps = itertools.count(1)
        self.lock = threading.RLock()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        assert not self.strange, self.strange

    # -- Keystone ------------------------------------------------------------------------------------------------------

    def token(self, body: Any) -> Reply:
        auth = body["auth"]
        self.logins.append(auth)
        identity = auth["identity"]
        given = identity.get("password", {}).get("user", {}).get("password") or identity.get(
            "application_credential", {}
        ).get("secret")
        if given != self.password:
            return 401, {"error": {"code": 401, "message": "no", "title": "Unauthorized"}}
        catalog = [
            {
                "type": service,
                "name": name,
                "id": name,
                "endpoints": [
                    {
                        "id": f"{name}-{region}",
                        "interface": "public",
                        "region": region,
                        "region_id": region,
                        "url": f"{self.url}/{name}",
                    }
                    for region in self.regions
                ],
            }
            for service, name in _PORTS.items()
            if service in self.services
        ]
        return 201, {
            "token": {
                "catalog": catalog,
                "expires_at": "2999-01-01T00:00:00.000000Z",
                "issued_at": "2020-01-01T00:00:00.000000Z",
                "methods": ["password"],
                "project": {"id": "p1", "name": "project", "domain": {"id": "default", "name": "Default"}},
                "user": {"id": "u1", "name": "worker", "domain": {"id": "default", "name": "Default"}},
                "roles": [{"id": "r", "name": "member"}],
            }
        }

    # -- Heat ----------------------------------------------------------------------------------------------------------

    def heat(self, method: str, path: list[str], query: dict[str, list[str]], body: Any) -> Reply:
        match (method, path):
            case ("GET", ["stacks"]):
                tag = query.get("tags", [""])[0]
                return 200, {"stacks": [self._shown(row) for row in self.stacks.values() if tag in row["tags"]]}
            case ("POST", ["stacks"]):
                return self._create(body)
            case (_, ["stacks", name, *more]):
                row = self.stacks.get(name)
                if row is None or (more and more[0] != row["id"]):
                    return 404, {"error": {"message": f"The Stack ({name}) could not be found."}}
                return self._one(method, row, more[1:], body)
        return 404, None

    def _one(self, method: str, row: dict[str, Any], more: list[str], body: Any) -> Reply:
        if method == "DELETE":
            self._begin(row, "DELETE")
            return 204, None
        if method == "PUT":
            if row["stack_status"].endswith("_IN_PROGRESS"):
                return 409, {"error": {"message": "an operation is in progress"}}
            self._take(row, body)
            self._begin(row, "UPDATE")
            return 202, None
        match more:
            case []:
                self._look(row)
                return 200, {"stack": self._shown(row)}
            case ["template"]:
                return 200, row["body"]["template"]
            case ["files"]:
                return 200, row["body"]["files"]
            case ["environment"]:
                return 200, {"parameters": row["body"]["parameters"]}
            case ["resources"]:
                return 200, {"resources": row["resources"]}
            case ["resources", name]:
                for resource in row["resources"]:
                    if resource["resource_name"] == name:
                        return 200, {"resource": resource}
                return 404, {"error": {"message": f"The Resource ({name}) could not be found in Stack."}}
            case ["events"]:
                return 200, {"events": row["events"]}
        return 404, None

    def _create(self, body: Any) -> Reply:
        name = body["stack_name"]
        if name in self.stacks:
            return 409, {"error": {"message": f"The Stack ({name}) already exists."}}
        if any("No::Such" in str(one) for one in body["template"].get("resources", {}).values()):
            return 400, {"error": {"message": "The Resource Type (No::Such) could not be found."}}
        id = f"id{next(self._ids)}"
        row = {"stack_name": name, "id": id, "resources": [], "events": [], "creation_time": "2026-01-01T00:00:00Z"}
        self._take(row, body)
        self._begin(row, "CREATE")
        self.stacks[name] = row
        return 201, {"stack": {"id": id}}

    def _take(self, row: dict[str, Any], body: Any) -> None:
        row["body"] = body
        row["tags"] = body["tags"].split(",")
        row["updated_time"] = f"2026-01-01T00:00:{next(self._stamps):02d}Z"

    def _begin(self, row: dict[str, Any], what: str) -> None:
        row.update(stack_status=f"{what}_IN_PROGRESS", stack_status_reason="begun", left=self.looks)

    def _look(self, row: dict[str, Any]) -> None:
        if not row["stack_status"].endswith("_IN_PROGRESS"):
            return
        row["left"] -= 1
        if row["left"] > 0:
            return
        what = row["stack_status"].split("_")[0]
        if self.failing:
            row.update(stack_status=f"{what}_FAILED", stack_status_reason=self.failing)
        else:
            row.update(stack_status=f"{what}_COMPLETE", stack_status_reason="done")
            if what == "DELETE":
                del self.stacks[row["stack_name"]]

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        outputs = row["body"]["template"].get("outputs", {})
        return {
            **{key: value for key, value in row.items() if key not in ("body", "left", "resources", "events")},
            "outputs": [{"output_key": key, "output_value": item["value"]} for key, item in outputs.items()],
        }

    # -- the others ----------------------------------------------------------------------------------------------------

    def other(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply:
        bare = re.sub(r"^/v[0-9.]+(?=/)", "", path)
        if path != "/":
            reason = objection(service, method, bare, query, body)
            self.strange += [f"{method} {path}: {reason}"] if reason else []
        own = self.own(service, method, bare, query, body)
        if own is not None:
            return own
        server = re.fullmatch(r"/servers/([^/]+)(/action)?", bare) if service == "nova" else None
        if server is not None and server[1] in self.servers:
            return self._server(self.servers[server[1]], body if server[2] else None)
        if method != "GET":
            self.posted.append((service, path, body))
            found = self.answers.get((service, path))
            return (404, None) if found is None else (200, found)
        if service == "glance" and path == "/":
            # As the real one says which versions it has.
            link = {"rel": "self", "href": f"{self.url}/glance/v2/"}
            return 300, {"versions": [{"id": "v2.9", "status": "CURRENT", "links": [link]}]}
        for prefix in ("/v2.0", "/v2"):
            path = path.removeprefix(prefix)
        found = self.lists.get(service, {}).get(path)
        if found is None:
            return 404, {"message": f"{service} has no {path}"}
        ((key, rows),) = found.items()
        if isinstance(rows, list):
            for name, values in query.items():
                if name not in ("limit", "marker", "status", "resource_types"):
                    rows = [row for row in rows if str(row.get(name)).lower() == values[0].lower()]
            marks = [str(row.get("id")) for row in rows]
            start = marks.index(query["marker"][0]) + 1 if "marker" in query else 0
            rows = rows[start : start + int(query.get("limit", ["1000"])[0])]
        return 200, {key: rows}

    def own(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply | None:
        """What a kind of this fake answers itself; None: nothing."""
        return None

    def _server(self, record: dict[str, Any], action: Any) -> Reply:
        """One of `servers`: as strict about states as Nova is, and as slow: a change is seen at the second look."""
        if action is None:
            shown = dict(record)
            if record.pop("OS-EXT-STS:task_state", None):
                record["status"] = record.pop("next")
            return 200, {"server": {key: value for key, value in shown.items() if key != "next"}}
        ((name, more),) = action.items()
        if name == "os-getConsoleOutput":
            found = self.answers.get(("nova", f"/servers/{record['id']}/action"))
            return (404, None) if found is None else (200, found)
        self.acted.append((record["id"], name))
        kind = f"{name} {more['type']}" if name == "reboot" else name
        allowed, then = {
            "os-start": (("SHUTOFF",), "ACTIVE"),
            "os-stop": (("ACTIVE", "ERROR"), "SHUTOFF"),
            "unpause": (("PAUSED",), "ACTIVE"),
            "reboot SOFT": (("ACTIVE",), "ACTIVE"),
            "reboot HARD": (("ACTIVE", "ERROR", "SHUTOFF", "PAUSED"), "ACTIVE"),
        }[kind]
        if record.get("OS-EXT-STS:task_state") or record["status"] not in allowed or record.get("locked"):
            why = f"Cannot '{name}' instance while it is in vm_state {record['status'].lower()}"
            if record.get("locked"):
                why = f"Instance {record['id']} is locked"
            return 409, {"conflictingRequest": {"code": 409, "message": why}}
        record.update({"OS-EXT-STS:task_state": name, "next": "ERROR" if self.failing else then})
        return 202, None


class Handler(BaseHTTPRequestHandler):
    server: Fake
    protocol_version = "HTTP/1.1"
    # Head and body in one packet: else each answer waits 40 ms for the acknowledgement of its head.
    wbufsize = -1

    def _handle(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        parts = urlsplit(self.path)
        words = [unquote(word) for word in parts.path.strip("/").split("/")]
        query = parse_qs(parts.query)
        with self.server.lock:
            if words[0] == "v3":
                if self.command == "GET":
                    return self._send(200, {"version": {"id": "v3.14", "status": "stable", "links": []}}, {})
                return self._send(*self.server.token(body), {"X-Subject-Token": "token"})
            self.server.version = self.headers.get("OpenStack-API-Version", "")
            self.server.asked.append((self.command, "/" + "/".join(words)))
            trouble = self._trouble(parts.path)
            if trouble == 1:
                self.close_connection = True
                return None
            if trouble is not None and trouble > 1:
                return self._send(trouble, {"message": "in trouble"}, {})
            do: Callable[[], Reply]
            if words[0] == "heat":
                do = lambda: self.server.heat(self.command, words[1:], query, body)  # noqa: E731
            else:
                path = "/" + "/".join(words[1:])
                do = lambda: self.server.other(words[0], self.command, path, query, body)  # noqa: E731
            status, data = do()
            if trouble == 0:
                self.close_connection = True
                return None
        return self._send(status, data, {})

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    def _trouble(self, path: str) -> int | None:
        for item in self.server.trouble:
            if item[0] == self.command and item[1] in path:
                self.server.trouble.remove(item)
                return item[2]
        return None

    def _send(self, status: int, data: Any, headers: dict[str, str]) -> None:
        text = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json" if text else "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""
