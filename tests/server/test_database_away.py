"""What people and programs are told while the database is busy or away: it is no defect, and it passes."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/v1/environments", "vetro.server.api.v1.routing.caller_of"),
        ("/app/", "vetro.server.web.page.caller_of_session"),
    ],
)
def test_it_is_said_and_one_may_come_again(path: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("connection to server failed")

    monkeypatch.setattr(where, away)
    answer = Client().get(path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert "The database is busy or cannot be reached" in answer.content.decode()
    assert "connection to server failed" not in answer.content.decode()
