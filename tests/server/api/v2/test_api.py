"""What all of /v2 has in common: errors, addresses, bodies, the description."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client

from tests.server.api.v2.conftest import archive, upload
from vetro.server.api.paging import cursor
from vetro.server.api.v2.api import api

OTHER_PART = b"--x\r\nContent-Disposition: form-data; name=o\r\n\r\na\r\n--x--\r\n"


def send(person: Any, method: str, path: str, body: bytes, content_type: str = "application/json", **more: Any) -> Any:
    return person._client.generic(method, path, body, content_type, **more)


def test_the_root_says_where_to_go(db: None) -> None:
    answer = Client().get("/v2/")
    assert (answer.status_code, answer.json()["links"]["openapi"]) == (200, "/v2/openapi.json")


def test_the_description_is_complete() -> None:
    spec = api.get_openapi_schema()
    assert spec["openapi"] == "3.1.0"
    ids = set()
    for path, methods in spec["paths"].items():
        for method, about in methods.items():
            where = f"{method} {path}"
            assert about["operationId"] not in ids, where
            ids.add(about["operationId"])
            assert about.get("description"), where
            assert about["tags"], where
            if path not in ("/v2/", "/v2/auth/login"):
                assert [list(scheme) for scheme in about["security"]] == [["Token"], ["Bearer"]], where
            answers = {str(status): text for status, text in about["responses"].items()}
            assert all("Failure" in json.dumps(answers[status]) for status in ("400", "401", "403", "404")), where
    assert {"login", "listPackages", "deploySession", "watchEvents", "readLog"} <= ids


def test_every_rule_named_is_one_of_the_policy() -> None:
    from vetro.server.accounts.policy_rules import RULES

    rules = {
        about["x-policy-rule"]
        for methods in api.get_openapi_schema()["paths"].values()
        for about in methods.values()
        if "x-policy-rule" in about
    }
    assert rules <= set(RULES)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/nothing", "/v2/environments/", "/v2/packages/a/b/c/d", "/v2/../v1", "/v2/a%0Ab", "/v2/environments/x%0A",
        "/v2//environments", "/v2/environments%2F..", "/v2/sessions/a/components/b%0Ac", "/v2/%2e%2e/%2e%2e/etc/passwd",
        "/v2/environments/%ff%fe",
    ],
)  # fmt: skip
def test_unknown_addresses(ann: Any, path: str) -> None:
    answer = ann.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SRV404")


def test_wrong_methods_name_the_right_ones(ann: Any) -> None:
    answer = ann.put("/v2/environments", {})
    assert (answer.status_code, answer["Allow"], answer.json()["error"]["code"]) == (405, "GET, POST", "SRV405")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400), (b'{"name": NaN}', "application/json", 400),
        (b'{"name": "a\\u0000"}', "application/json", 400), (b'{"name": "\\ud800"}', "application/json", 400),
        (b"\xff\xfe{}", "application/json", 400), (b"[" * 200_000, "application/json", 400),
        (b'{"name": ' + b"9" * 5000 + b"}", "application/json", 400), (b"[]", "application/json", 400),
        (b'"x"', "application/json", 400), (b"null", "application/json", 400), (b"", "application/json", 400),
        (b'{"name": 5}', "application/json", 400), (b'{"name": "x", "more": 1}', "application/json", 400),
        (b'{"name": "x"}', "text/plain", 415), (b'{"name": "x"}', "", 415), (b"<x/>", "application/xml", 415),
        ('{"name": "a", "description": "\\u0000"}'.encode("utf-16"), "application/json", 400),
        (b'{"name": "a", "description": "\xed\xa0\x80"}', "application/json", 400),
        ('{"name": "a"}'.encode("utf-16"), "application/json", 400),
        (b'{"name": "' + b"x" * 300 + b'"}', "application/json", 400), (b'{"name": "  "}', "application/json", 400),
    ],
)  # fmt: skip
def test_bodies_that_are_none(ann: Any, body: bytes, content_type: str, status: int) -> None:
    answer = send(ann, "POST", "/v2/environments", body, content_type)
    assert answer.status_code == status, answer.content
    assert answer.json()["error"]["message"]
    assert ann.get("/v2/environments").json()["items"] == []


def test_a_value_that_is_refused_is_not_repeated(ann: Any) -> None:
    answer = send(ann, "POST", "/v2/auth/login", b'{"name": "ann", "password": {"x": "s3cr3t"}}')
    assert answer.status_code == 400 and b"s3cr3t" not in answer.content
    assert answer.json()["error"]["details"]["problems"][0]["where"] == "body/password"


def test_a_body_beyond_the_limit(ann: Any, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = send(ann, "POST", "/v2/environments", b'{"name": "' + b"x" * 2000 + b'"}')
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "SRV413")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"PK", "application/zip", 415), (b"", "multipart/form-data; boundary=x", 400),
        (b"junk", "multipart/form-data", 400), (b"--x\r\njunk", "multipart/form-data; boundary=x", 400),
        (OTHER_PART, "multipart/form-data; boundary=x", 400),
    ],
)  # fmt: skip
def test_uploads_that_are_none(ann: Any, body: bytes, content_type: str, status: int) -> None:
    answer = send(ann, "POST", "/v2/packages", body, content_type)
    assert answer.status_code == status, answer.content


@pytest.mark.parametrize(
    "path",
    [
        "/v2/environments?search=%00", "/v2/environments/%00", "/v2/environments?limit=x", "/v2/tasks?limit=99999",
        "/v2/environments?cursor=%ff", "/v2/tasks/x/log?after=99999999999999999999999",
        "/v2/environments/x/states/99999999999999999999999", "/v2/environments/x/states/-1",
        "/v2/audit?since=yesterday", "/v2/audit?since=0001-01-01T00:00:00%2B14:00",
        "/v2/audit?until=9999-12-31T23:59:59-14:00", f"/v2/tasks?cursor={cursor('0001-01-01T00:00:00+14:00', 'x')}",
    ],
)  # fmt: skip
def test_parameters_that_are_none(ann: Any, path: str) -> None:
    answer = ann.get(path)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["message"]


def test_a_defect_is_told_by_a_mark_and_nothing_else(ann: Any, monkeypatch: Any, caplog: Any) -> None:
    from vetro.server.environments import queries

    def broken(*_: Any) -> Any:
        raise RuntimeError("the password is s3cr3t")

    monkeypatch.setattr(queries, "part_of", broken)
    answer = ann.get("/v2/environments")
    assert answer.status_code == 500 and b"s3cr3t" not in answer.content
    mark = answer.json()["error"]["message"].split()[-1].rstrip(".")
    assert any(mark in record.getMessage() for record in caplog.records)


def test_a_busy_database_is_told_as_such(ann: Any, monkeypatch: Any) -> None:
    from django.db import OperationalError

    from vetro.server.environments import queries

    def busy(*_: Any) -> Any:
        raise OperationalError("database is locked")

    monkeypatch.setattr(queries, "part_of", busy)
    answer = ann.get("/v2/environments")
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")


def test_errors_are_told_in_the_language_that_a_request_asks_for(ann: Any) -> None:
    path = "/v2/environments/" + "0" * 32
    english = ann.get(path).json()["error"]
    german = ann.get(path, headers={"Accept-Language": "de-AT,en;q=0.5"}).json()["error"]
    assert english["message"].startswith("There is no ") and english["code"] == german["code"]
    assert german["message"] != english["message"] and "gibt es nicht" in german["message"]
    # The thread that answered speaks English again; so does one that is asked for a language nobody wrote.
    assert ann.get(path).json()["error"] == english
    assert ann.get(path, headers={"Accept-Language": "tlh"}).json()["error"] == english


def with_one_tag() -> bytes:
    """A package about which `vetro check` has something to say."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive())) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(zipfile.ZipInfo(name), source.read(name).replace(b"[garden]", b"garden"))
    return buffer.getvalue()


def test_what_was_found_behind_walls_and_stored_is_told_in_german_with_its_values(ann: Any, installed: None) -> None:
    german = {"Accept-Language": "de"}
    refused = upload(ann, archive(name="bad..name"), headers=german).json()["error"]
    assert refused["message"].startswith("Das Paket konnte nicht geladen werden: ")
    assert "bad..name" in refused["message"] and "malformed" not in refused["message"]
    stored = upload(ann, with_one_tag(), headers=german)
    assert stored.status_code == 201, stored.content
    address = f"/v2/packages/{stored.json()['imported'][0]['id']}"
    finding = ann.get(address, headers=german).json()["findings"][0]
    assert finding["message"] == "Tags ist ein einzelner Text, keine Liste."
    assert ann.get(address).json()["findings"][0]["message"] == "Tags is one text, not a list"
