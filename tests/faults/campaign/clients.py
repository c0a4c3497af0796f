"""Clients of the campaign: they order deployments over HTTP, and go on when servers die under their requests."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Seconds between two looks whether a deployment has ended.
LOOK = 0.25


class TooLate(Exception):
    """It did not happen before the end of the campaign."""


class Unsure(Exception):
    """Nobody knows whether a request was carried out."""


@dataclass
class Ordered:
    """One deployment as it was ordered. ``ends``: when it was seen to have ended."""

    title: str
    steps: int
    fails: bool
    begun: float
    ended: float = 0.0


@dataclass
class Site:
    """One environment and what was ordered there."""

    name: str
    id: str = ""
    ordered: list[Ordered] = field(default_factory=list)
    deleted: bool = False


class Web:
    """Requests to any of several servers, each repeated until one answers. Safe for several threads."""

    def __init__(self, addresses: Callable[[], Sequence[str]], token: str, until: float) -> None:
        self._addresses = addresses
        self._token = token
        self._until = until
        self._guard = threading.Lock()
        self._turn = 0
        #: Answers by status; ``broken`` connections.
        self.answers: Counter[str] = Counter()

    def grant(self, seconds: float) -> None:
        """From now on it takes so long at most."""
        self._until = time.monotonic() + seconds

    def check_time(self) -> None:
        """Raises `TooLate`."""
        if time.monotonic() > self._until:
            raise TooLate

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and answer of a request that may be sent twice without harm. Raises `TooLate`."""
        while True:
            try:
                return self.once(method, path, body, **headers)
            except Unsure:
                self.check_time()

    def once(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The same for one that may not. Raises `Unsure`, `TooLate`."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-Auth-Token": self._token, **headers}
        while True:
            self.check_time()
            connection = self._connect()
            if connection is None:
                time.sleep(0.1)
                continue
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                self._count("broken")
                raise Unsure from None
            finally:
                connection.close()
            self._count(str(answer.status))
            if answer.status >= 500:
                time.sleep(0.1)
                raise Unsure
            return answer.status, json.loads(text) if text and answer.status < 300 else text

    def _connect(self) -> http.client.HTTPConnection | None:
        with self._guard:
            self._turn += 1
            turn = self._turn
        addresses = self._addresses()
        if not addresses:
            return None
        connection = http.client.HTTPConnection(addresses[turn % len(addresses)], timeout=45)
        try:
            connection.connect()
        except OSError:
            return None
        return connection

    def _count(self, what: str) -> None:
        with self._guard:
            self.answers[what] += 1


class Client(threading.Thread):
    """Deploys each of its environments again and again."""

    def __init__(self, web: Web, sites: Sequence[Site], rounds: int, make: Callable[[Site, int], Ordered]) -> None:
        super().__init__(name=f"client of {sites[0].name}", daemon=True)
        self.web = web
        self.sites = sites
        self._rounds = rounds
        self._make = make
        #: What it did not understand; its work ends with that.
        self.trouble: list[str] = []

    def run(self) -> None:
        """All rounds."""
        try:
            for site in self.sites:
                self.create(site)
            for number in range(self._rounds):
                for site in self.sites:
                    self.deploy(site, self._make(site, number))
                for site in self.sites:
                    self.await_end(site)
        except TooLate:
            self.trouble.append(f"{self.name}: not done in time; {self._where()}")
        except Exception as error:
            self.trouble.append(f"{self.name}: {type(error).__name__}: {error}; {self._where()}")

    def _where(self) -> str:
        return ", ".join(f"{site.name} has {len(site.ordered)} deployments ordered" for site in self.sites)

    def create(self, site: Site) -> None:
        """Makes an environment, once."""
        while not site.id:
            try:
                status, answer = self.web.once("POST", "/v1/environments", {"name": site.name})
            except Unsure:
                status, answer = 409, None
            if status == 409:
                _, listed = self.web.ask("GET", "/v1/environments")
                site.id = next((found["id"] for found in listed["environments"] if found["name"] == site.name), "")
            else:
                site.id = good(status, answer)["id"]

    def deploy(self, site: Site, order: Ordered) -> None:
        """Orders a deployment, once."""
        where = f"/v1/environments/{site.id}"
        session = good(*self.web.ask("POST", f"{where}/configure"))["id"]
        app = application(site, order)
        headers = {"X-Configuration-Session": session}
        good(*self.web.ask("PUT", f"{where}/services", [app], **headers))
        site.ordered.append(order)
        wanted = len(site.ordered)
        while True:
            try:
                good(*self.web.once("POST", f"{where}/sessions/{session}/deploy"))
                return
            except Unsure:
                if len(self.deployments(site)) >= wanted:
                    return

    def deployments(self, site: Site) -> list[Any]:
        """What the service lists, newest first."""
        found: list[Any] = good(*self.web.ask("GET", f"/v1/environments/{site.id}/deployments"))["deployments"]
        return found

    def await_end(self, site: Site) -> None:
        """Waits until nothing works on the environment."""
        while good(*self.web.ask("GET", f"/v1/environments/{site.id}"))["status"] in ("deploying", "deleting"):
            self.web.check_time()
            time.sleep(LOOK)
        site.ordered[-1].ended = time.monotonic()

    def delete(self, site: Site) -> None:
        """Deletes the environment and waits until it is gone."""
        path, asked = f"/v1/environments/{site.id}", False
        while True:
            status, answer = self.web.ask("GET", path)
            if status == 404:
                site.deleted = True
                return
            if good(status, answer)["status"] not in ("deploying", "deleting"):
                if asked:
                    raise ValueError(f"environment {site.name} was not deleted: {answer['status']}")
                try:
                    good(*self.web.once("DELETE", path))
                    asked = True
                except Unsure:
                    pass
            self.web.check_time()
            time.sleep(LOOK)


def application(site: Site, order: Ordered) -> dict[str, Any]:
    """The application of an environment as a deployment wants it."""
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"server{site.name}"}, "name": "web",
                "image": "i", "flavor": "f"}  # fmt: skip
    return {"?": {"type": "test.Shop", "id": f"app{site.name}"}, "title": order.title, "steps": order.steps,
            "fails": order.fails, "instance": instance}  # fmt: skip


def good(status: int, answer: Any) -> Any:
    """The answer. Raises `ValueError` for a refusal."""
    if status >= 300:
        raise ValueError(f"status {status}: {answer}")
    return answer
