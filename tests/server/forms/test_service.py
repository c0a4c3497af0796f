"""A form over HTTP, with the processes of a real service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.forms.conftest import archive
from tests.server.servekit import Service


@pytest.mark.campaign
def test_a_form_from_beginning_to_end(tmp_path: Path) -> None:
    service = Service(tmp_path, "--workers", "0", VETRO_CLOUD__DRIVER="record")
    try:
        service.await_ready()
        service.admin("project", "create", "demo")
        service.admin("user", "create", "ann", "--project", "demo")
        token = service.admin("token", "create", "ann", "-o", "value")

        def call(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
            data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            status, answer = service.send(method, path, data, {"X-Auth-Token": token, "Content-Type": kind})
            assert status < 300, answer
            return json.loads(answer)

        part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
        packages = call("POST", "/v2/packages", part + archive() + b"\r\n--x--\r\n", "multipart/form-data; boundary=x")
        at = "/v2/forms/" + call("POST", "/v2/forms", {"package": packages["imported"][0]["id"]})["id"]
        assert call("POST", at + "/submit", {"answers": {"name": "Corner", "size": "small"}})["page"] == 1
        call("POST", at + "/evaluate", {"answers": {"seats": "9", "pin": "Pa$$w0rd!"}})
        shown = call("GET", at)
        (page,) = [page for page in shown["form"]["pages"] if page.get("sections")]
        values = {field["name"]: field.get("value") for field in page["sections"][0]["fields"]}
        assert (shown["page"], values["seats"]) == (1, 9) and "Pa$$w0rd" not in json.dumps(shown)
        assert call("POST", at + "/submit", {"answers": {}, "partial": True})["outcome"] == "next"
        last = call("POST", at + "/submit", {"answers": {"application_name": "corner"}})
        assert last["outcome"] == "ready", last["problems"]
        done = call("POST", at + "/finish")
        (app,) = call("GET", f"/v2/sessions/{done['session_id']}/model")["services"]
        assert (app["name"], app["seats"], app["pin"]) == ("Corner", 9, {"secret": "kept"})
    finally:
        assert service.end() == 0
