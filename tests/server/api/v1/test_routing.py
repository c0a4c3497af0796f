"""What every answer of /v1 has in common (API.md 1, 2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


@pytest.mark.django_db
def test_a_request_without_token_is_answered_by_401_and_where_to_get_one() -> None:
    answer = Client().get("/v1/environments")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == 401
    assert answer["WWW-Authenticate"].startswith("Keystone uri=")


def test_anything_but_v1_and_v2_is_answered_by_discovery(db: None) -> None:
    for path in ("/", "/nope", "/v1.0/environments", "/environments", "/line%0Abreak", "/end%0A"):
        answer = Client().get(path)
        assert answer.status_code == 300
        assert [v["id"] for v in answer.json()["versions"]] == ["v1.0", "v2"]


def test_a_browser_at_the_root_is_led_to_the_pages(db: None) -> None:
    answer = Client(headers={"accept": "text/html"}).get("/")
    assert (answer.status_code, answer["Location"]) == (302, "/app/")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("*/*", "text/html"), ("text/html", "text/html"), ("application/json", "application/json"), ("x/y", "text/plain")],
)
def test_errors_are_given_in_the_form_the_client_wants(ann: Any, accept: str, kind: str) -> None:
    answer = ann.get("/v1/nope", headers={"accept": accept})
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith(kind)
