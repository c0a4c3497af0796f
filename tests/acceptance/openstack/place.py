"""The Keystone and Heat that script/openstack started, and a `vetro serve` that works with them."""

from __future__ import annotations

import io
import json
import shlex
import time
import urllib.error
import urllib.request
import uuid
import zipfile
from pathlib import Path
from typing import Any

from tests.server.servekit import Service
from tests.support.waiting import until

PACKAGES = Path(__file__).parent / "packages"
PATIENCE = 90.0


class Answer:
    """What a service answered."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        return json.loads(self.body)


def send(method: str, url: str, token: str = "", body: Any = None, **headers: str) -> Answer:
    """One request; ``body`` is JSON unless it is bytes."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers, **({"X-Auth-Token": token} if token else {})}
    request = urllib.request.Request(url, data, sent, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())


class OpenStack:
    """The real one: who signs in gets a token, and Heat can be asked what it has."""

    def __init__(self, folder: Path) -> None:
        words = [word for line in (folder / "demorc").read_text().splitlines() for word in shlex.split(line)]
        known = dict(word.split("=", 1) for word in words if "=" in word)
        self.keystone = known["OS_AUTH_URL"]
        self.password = known["OS_PASSWORD"]
        self.tokens: dict[str, str] = {}
        self.said: dict[str, dict[str, Any]] = {}
        for name, project in (("demo", "demo"), ("other", "other"), ("admin", "admin"), ("catalog", "service")):
            self.tokens[name], self.said[name] = self.sign_in(name, project)
        self.heat = next(
            endpoint["url"]
            for service in self.said["demo"]["catalog"]
            if service["type"] == "orchestration"
            for endpoint in service["endpoints"]
            if endpoint["interface"] == "public" and endpoint["region"] == "RegionOne"
        )

    def sign_in(self, name: str, project: str) -> tuple[str, dict[str, Any]]:
        """A new token, and what Keystone says of it."""
        user = {"name": name, "password": self.password, "domain": {"id": "default"}}
        scope = {"project": {"name": project, "domain": {"id": "default"}}}
        identity = {"methods": ["password"], "password": {"user": user}}
        answer = send("POST", f"{self.keystone}/auth/tokens", body={"auth": {"identity": identity, "scope": scope}})
        assert answer.status == 201, answer.body
        return answer.headers["X-Subject-Token"], answer.json()["token"]

    def project(self, name: str) -> str:
        return str(self.said[name]["project"]["id"])

    def trust(self, name: str) -> str:
        """A trust with which the service's user acts in somebody's project: what that user would make once."""
        said = self.said[name]
        wanted = {
            "trustor_user_id": said["user"]["id"],
            "trustee_user_id": self.said["catalog"]["user"]["id"],
            "project_id": said["project"]["id"],
            "impersonation": True,
            "allow_redelegation": True,
            "roles": [{"name": role["name"]} for role in said["roles"]],
        }
        answer = send("POST", f"{self.keystone}/OS-TRUST/trusts", self.tokens[name], {"trust": wanted})
        assert answer.status == 201, answer.body
        return str(answer.json()["trust"]["id"])

    def application_credential(self, name: str) -> dict[str, str]:
        """Settings that sign in with a new application credential of somebody."""
        path = f"/users/{self.said[name]['user']['id']}/application_credentials"
        wanted = {"name": f"vetro-{uuid.uuid4().hex}", "unrestricted": True}
        answer = send("POST", self.keystone + path, self.tokens[name], {"application_credential": wanted})
        assert answer.status == 201, answer.body
        made = answer.json()["application_credential"]
        return {"application_credential_id": made["id"], "application_credential_secret": made["secret"]}

    def add_region(self, region: str, port: int) -> str:
        """A region with the same Heat at another port; the id of its endpoint."""
        admin = self.tokens["admin"]
        assert send("PUT", f"{self.keystone}/regions/{region}", admin, {"region": {}}).status in (201, 409)
        known = send("GET", f"{self.keystone}/services?type=orchestration", admin).json()["services"]
        wanted = {
            "service_id": known[0]["id"],
            "interface": "public",
            "region_id": region,
            "url": f"http://127.0.0.1:{port}/v1/%(tenant_id)s",
        }
        answer = send("POST", f"{self.keystone}/endpoints", admin, {"endpoint": wanted})
        assert answer.status == 201, answer.body
        return str(answer.json()["endpoint"]["id"])

    def drop_endpoint(self, id: str) -> None:
        assert send("DELETE", f"{self.keystone}/endpoints/{id}", self.tokens["admin"]).status == 204

    def stacks(self, name: str = "demo") -> list[dict[str, Any]]:
        """Stacks that Heat has in somebody's project."""
        url = self.heat.replace(self.project("demo"), self.project(name))
        found: list[dict[str, Any]] = send("GET", f"{url}/stacks", self.tokens[name]).json()["stacks"]
        return [row for row in found if row["stack_status"] != "DELETE_COMPLETE"]  # listed for a moment still

    def events(self, stack: dict[str, Any]) -> list[tuple[str, str]]:
        """(resource, state) of everything that happened to a stack of demo, oldest first."""
        url = f"{self.heat}/stacks/{stack['stack_name']}/{stack['id']}/events"
        return [
            (event["resource_name"], event["resource_status"])
            for event in send("GET", url, self.tokens["demo"]).json()["events"]
        ]


class Catalog:
    """A `vetro serve` whose users are Keystone's and whose cloud is Heat."""

    def __init__(self, openstack: OpenStack, folder: Path, cloud: dict[str, Any]) -> None:
        configs = folder / "configs"
        configs.mkdir()
        broker = {"agentRabbitMq": {"host": "far", "login": "x", "password": "y"}}
        (configs / "io.murano.Environment.json").write_text(json.dumps({"regionConfigs": {"RegionTwo": broker}}))
        own = {"username": "catalog", "password": openstack.password, "project_name": "service"}
        self.openstack = openstack
        self.folder = folder
        self._settings = {
            "VETRO_CLOUD__KIND": "openstack",
            "VETRO_CLOUD__OPENSTACK": json.dumps({"auth_url": openstack.keystone, **own, **cloud}),
            "VETRO_ENGINE__HOME_REGION": "RegionOne",
            "VETRO_ENGINE__CLASS_CONFIGS": str(configs),
            "VETRO_KEYSTONE__URL": openstack.keystone,
            "VETRO_KEYSTONE__OPTIONS": json.dumps({**own, "cache_seconds": 0.2}),
            "VETRO_NETWORKING__DRIVER": "nova",
            "VETRO_OBSERVE__LOG_LEVEL": "warning",
            "VETRO_WORKER__LEASE_SECONDS": "3",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        self.start()

    def start(self) -> None:
        """Begins, or begins again with the same data."""
        (self.folder / "ready.json").unlink(missing_ok=True)
        self.service = Service(self.folder, **self._settings)
        try:
            self.url: str = self.service.await_ready(150)["url"]
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        self.service.end()

    def send(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return send(method, self.url + path, self.openstack.tokens.get(who, who), body, **headers)

    def ok(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = self.send("demo", method, path, body, **headers)
        assert answer.status == 200, (method, path, answer.status, answer.body)
        return answer.json() if answer.body else None

    def upload(self, name: str) -> None:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for file in sorted((PACKAGES / name).rglob("*")):
                if file.is_file():
                    archive.write(file, str(file.relative_to(PACKAGES / name)))
        head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="p.zip"\r\n\r\n'
        body = head + data.getvalue() + b"\r\n--cut--\r\n"
        self.ok("POST", "/v1/catalog/packages", body, **{"Content-Type": "multipart/form-data; boundary=cut"})

    def environment(self, name: str) -> str:
        return str(self.ok("POST", "/v1/environments", {"name": name})["id"])

    def begin(self, environment: str, app: dict[str, Any]) -> None:
        """Puts the application into the environment, or in place of what has its id, and deploys."""
        where = f"/v1/environments/{environment}"
        session = self.ok("POST", f"{where}/configure")["id"]
        head = {"X-Configuration-Session": session}
        self.ok("PUT", f"{where}/services", [app], **head)
        self.ok("POST", f"{where}/sessions/{session}/deploy")

    def deploy(self, environment: str, app: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """(status of the environment, the application after it)."""
        self.begin(environment, app)
        return self.settled(environment)

    def settled(self, environment: str) -> tuple[str, dict[str, Any]]:
        where = f"/v1/environments/{environment}"
        until(lambda: self.ok("GET", where)["status"] != "deploying", PATIENCE)
        shown = self.ok("GET", where)
        return shown["status"], shown["services"][0]

    def told(self, environment: str) -> list[str]:
        """Texts of the reports of the newest deployment."""
        where = f"/v1/environments/{environment}/deployments"
        newest = self.ok("GET", where)["deployments"][0]["id"]
        return [report["text"] for report in self.ok("GET", f"{where}/{newest}")["reports"]]

    def delete(self, environment: str) -> None:
        where = f"/v1/environments/{environment}"
        self.ok("DELETE", where)
        until(lambda: self.send("demo", "GET", where).status == 404, PATIENCE)


def soon(met: Any, seconds: float = PATIENCE) -> None:
    """Looks at Heat again and again, not more often than it can bear."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.2)
