"""`GET /v2/events` of a real service: going on where one stopped, other projects, tokens that are revoked."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from django.test import Client

from tests.server.api.v2.test_auth import browser
from tests.server.servekit import Service

pytestmark = pytest.mark.database


class Listening:
    """A client that reads a stream event by event."""

    def __init__(self, service: Service, token: str, query: str = "", **headers: str) -> None:
        address = json.loads(service.ready.read_text())["url"].removeprefix("http://")
        self._connection = http.client.HTTPConnection(address, timeout=30)
        self._connection.request("GET", f"/v2/events{query}", headers={"X-Auth-Token": token, **headers})
        self.answer = self._connection.getresponse()

    def event(self) -> dict[str, Any]:
        """The next event: {id, event, data}; empty at the end of the stream."""
        found: dict[str, Any] = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if not name and found.keys() & {"data"}:
                return found
            if name in ("id", "event"):
                found[name] = value
            elif name == "data":
                found["data"] = json.loads(value)
        return {}

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None:
        self.answer.close()
        self._connection.close()


@pytest.mark.campaign
def test_a_stream_of_a_running_service(tmp_path: Path) -> None:
    service = Service(tmp_path, "--workers", "0")
    try:
        service.await_ready()
        tokens = {"admin": service.admin("token", "create", "admin", "--name", "t", "-o", "value")}

        def send(who: str, method: str, path: str, **given: Any) -> Any:
            body = json.dumps(given).encode() if given else None
            headers = {"X-Auth-Token": tokens.get(who, ""), "Content-Type": "application/json"}
            status, text = service.send(method, path, body, headers)
            assert status < 300, text
            return json.loads(text) if text else None

        for name in ("ann", "eve"):
            send("admin", "POST", "/v2/admin/projects", name=f"of-{name}")
            send("admin", "POST", "/v2/admin/users", name=name, password="a long password", project=f"of-{name}")
            tokens[name] = send("", "POST", "/v2/auth/login", name=name, password="a long password")["token"]
        with Listening(service, tokens["ann"]) as ann, Listening(service, tokens["eve"]) as eve:
            assert ann.answer.getheader("Content-Type") == "text/event-stream"
            begin = ann.event()
            assert (begin["event"], eve.event()["event"]) == ("begin", "begin")
            shop = send("ann", "POST", "/v2/environments", name="shop")["id"]
            made = ann.event()
            assert (made["event"], made["data"]["environment_id"], made["data"]["change"]) == (
                "environment", shop, "created",
            )  # fmt: skip
            send("ann", "PATCH", f"/v2/environments/{shop}", name="market")
            renamed = ann.event()
            assert renamed["data"]["change"] == "renamed"
            # Had eve been sent anything of ann's, it would come before what is hers.
            own = send("eve", "POST", "/v2/environments", name="evil")["id"]
            assert eve.event()["data"]["environment_id"] == own
        # Back again: what was missed, and nothing before it; by header, or by parameter.
        with Listening(service, tokens["ann"], **{"Last-Event-ID": made["id"]}) as again:
            assert again.event() == renamed
        with Listening(service, tokens["ann"], f"?after={begin['id']}&environment={shop}") as again:
            assert [again.event(), again.event()] == [made, renamed]
        # Eve has all her past, and of ann's environment not even a stream.
        with Listening(service, tokens["eve"], "?after=0") as past:
            assert past.event()["data"]["environment_id"] == own
        with Listening(service, tokens["eve"], f"?environment={shop}") as refused:
            assert refused.answer.status == 404
        with Listening(service, tokens["ann"], **{"Last-Event-ID": "soon"}) as refused:
            assert refused.answer.status == 400
        with Listening(service, tokens["ann"]) as ended:
            assert ended.event()["event"] == "begin"
            send("ann", "POST", "/v2/auth/logout")
            assert ended.event()["event"] == "end"
            assert ended.event() == {}
        with Listening(service, tokens["ann"]) as refused:
            assert refused.answer.status == 401
        with Listening(service, tokens["eve"]) as last:
            assert last.event()["event"] == "begin"
            assert service.end() == 0
            assert last.event() == {}
    finally:
        service.end()


@pytest.mark.django_db
@pytest.mark.parametrize("change", ["project", "role", "rule"])
def test_a_stream_ends_when_one_is_somebody_else(people: Any, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """A web session that moves on to another project must not go on showing the first one."""
    from vetro.server.accounts import policy
    from vetro.server.accounts.models import Membership, Project
    from vetro.server.api.v2 import events, stream

    monkeypatch.setattr(stream, "TOKEN", 0.0)
    person = people("ann", "demo", "member" if change == "rule" else "admin")
    other = Project.objects.create(name="elsewhere")
    Membership.objects.create(user_id=person.caller.user_id, project=other, role="member")
    client: Client = browser(person)
    answer: Any = client.get("/v2/events?after=0")
    parts = iter(answer)
    assert next(parts).startswith(b"retry")
    here = Membership.objects.filter(project_id=person.caller.project_id)
    if change == "project":
        here.delete()
    elif change == "role":
        here.update(role="member")
    else:
        monkeypatch.setattr(events, "enforce", lambda caller, rule: policy.enforce(caller, "admin_api"))
    assert next(parts).startswith(b"event: end")
    assert list(parts) == []
    answer.close()
