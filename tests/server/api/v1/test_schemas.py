"""JSON schemas on /v1, against what was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import installed
from tests.server.layers import People, layer
from tests.server.tasks import shop
from vetro.server.api.v1 import schemas
from vetro.server.tasks.package_queries import close

GOLDEN = Path(__file__).parents[3] / "acceptance" / "golden"


@pytest.fixture(scope="module", autouse=True)
def zygote() -> Iterator[None]:
    yield
    close()


@layer(installed)
def package(people: People) -> Any:
    return shop.add_package(people("ann").caller)


def test_class_and_methods(ann: Any, package: Any) -> None:
    answer = ann.get("/v1/schemas/test.Shop")
    assert answer.status_code == 200
    found = answer.json()
    assert set(found) == {""}
    assert found[""]["$schema"] == "http://json-schema.org/draft-04/schema#"
    assert found[""]["properties"]["title"] == {"type": "string"}
    assert found[""]["additionalProperties"] is False
    assert set(ann.get("/v1/schemas/test.Shop/add,greet,nothing").json()) == {"add", "greet"}
    assert set(ann.get("/v1/schemas/test.Shop/,add").json()) == {"", "add"}
    assert ann.get("/v1/schemas/test.Shop/deploy").json() == {}
    assert "applications" in ann.get("/v1/schemas/io.murano.Environment").json()[""]["properties"]


def test_answers_are_remembered_by_content(ann: Any, package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ann.get("/v1/schemas/test.Shop/add").content

    def never(*args: Any, **more: Any) -> Any:
        raise AssertionError("asked again")

    monkeypatch.setattr(schemas, "ask", never)
    assert ann.get("/v1/schemas/test.Shop/add").content == first


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("test.Nope", 404),
        ("test.Shop?packageName=test.nope", 404),
        ("test.Shop?classVersion=junk", 400),
        ("test.Shop?classVersion=0.0.0", 200),
        ("test.Shop?classVersion=9.9", 200),
        ("test.Shop?packageName=test.shop", 200),
        ("test.Nope?packageName=test.shop", 404),
        ("test.Shop/", 404),
    ],
)
def test_statuses(ann: Any, package: Any, path: str, status: int) -> None:
    answer = ann.get(f"/v1/schemas/{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == ("application/json" if status == 200 else "text/html; charset=UTF-8")


def test_other_projects_see_nothing(eve: Any, ann: Any, package: Any) -> None:
    assert ann.get("/v1/schemas/test.Shop").status_code == 200
    assert eve.get("/v1/schemas/test.Shop").status_code == 404


def test_denied_is_401(ann: Any, package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.errors import Forbidden

    def refuse(caller: Any, rule: str) -> None:
        assert rule == "get_schema"
        raise Forbidden("no")

    monkeypatch.setattr(schemas, "enforce", refuse)
    assert ann.get("/v1/schemas/test.Shop").status_code == 401


def within(recorded: Any, given: Any, path: str = "") -> list[str]:
    """Where ``given`` lacks something. Vetro adds keys of its own (DESIGN, "Where the sources differ")."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        return [d for key in recorded for d in within(recorded[key], given.get(key, "nothing"), f"{path}/{key}")]
    return [] if recorded == given else [f"{path}: {given} instead of {recorded}"]


def test_as_recorded(ann: Any) -> None:
    import io
    import zipfile

    folder = GOLDEN / "packages" / "com.example.Demo"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zip:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                zip.write(path, str(path.relative_to(folder)))
    shop.add_package(ann.caller, buffer.getvalue())
    exchanges = json.loads((GOLDEN / "exchanges" / "32-schemas.json").read_text())["exchanges"]
    checked = 0
    for exchange in exchanges:
        request, response = exchange["request"], exchange["response"]
        if exchange["actor"] != "demo" or "HotApp" in request["path"]:
            continue
        query = f"?{request['query']}" if "query" in request else ""
        answer = ann.get(request["path"] + query)
        assert answer.status_code == response["status"], request["path"]
        if "json" not in response["body"] or "com.example" not in request["path"]:
            continue
        given, recorded = answer.json(), response["body"]["json"]
        for name, schema in recorded.items():
            if name == "makeModel":  # builders get their first parameter from the service (DESIGN)
                del schema["properties"]["name"]
            assert within(schema, given[name]) == [], (request["path"], name)
        checked += 1
    assert checked > 5
