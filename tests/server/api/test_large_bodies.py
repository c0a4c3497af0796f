"""JSON that is small and becomes large: it is refused before it is parsed, whoever sends it and wherever it stands."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from vetro.server.environments import imports, limits

#: 100 lists.
BOMB = b"[" + b",".join([b"[]"] * 100) + b"]"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.check_parts, "__defaults__", (100,))


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/environments"), ("POST", "/v2/environments"), ("POST", "/v2/tokens"), ("POST", "/v1/actions")],
)
def test_bodies_of_too_many_parts_are_refused(ann: Any, method: str, path: str) -> None:
    answer = ann.request(method, path, data=BOMB, content_type="application/json")
    assert answer.status_code == 400 and "200 parts, 100 at most" in answer.content.decode()
    if path == "/v2/environments":
        assert ann.post(path, {"name": "fine"}).status_code == 201


@pytest.mark.django_db
def test_who_is_not_known_sends_little() -> None:
    client = Client()
    sent = json.dumps({"name": "n", "password": "x" * 70_000})
    answer = client.post("/v2/auth/login", sent, content_type="application/json")
    assert answer.status_code == 413 and "65,536 bytes" in answer.json()["error"]["message"]
    assert client.post("/v2/auth/login", {"name": "n", "password": "x"}, "application/json").status_code == 401


def archived(files: dict[str, bytes]) -> Any:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return SimpleUploadedFile("env.zip", target.getvalue())


def test_archives_of_environments_have_no_such_models(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    head = json.dumps({"format": 1, "name": "e", "packages": []}).encode()
    model = json.dumps({"Objects": {"?": {"id": "e", "type": "io.murano.Environment"}, "name": "e"}}).encode()

    def brought(**files: bytes) -> Any:
        named = {f"{name.replace('_', '-')}.json": data for name, data in {"environment": head, **files}.items()}
        return ann._client.post("/v2/environments/import", {"archive": archived(named)})

    assert brought(model_1=model).status_code == 201
    monkeypatch.setattr(imports, "MOST_PARTS", 100)
    for files in ({"environment": BOMB}, {"model_1": BOMB}):
        answer = brought(**files)
        assert answer.status_code == 400 and "200 parts" in answer.content.decode()
    monkeypatch.setattr(imports, "MOST_ALL_PARTS", 7)
    assert brought(model_1=model).status_code != 400
    answer = brought(model_1=model, model_2=model)
    assert answer.status_code == 400 and "the models of the archive" in answer.content.decode()
