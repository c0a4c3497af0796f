"""Models of very many objects: what compares or draws them refuses, and everything else goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.web.conftest import browser
from vetro.server.environments import content
from vetro.server.environments.models import Session, State

__all__ = ["browser"]
pytestmark = [pytest.mark.django_db, pytest.mark.attack("data", "M7")]


def objects(count: int) -> list[dict[str, Any]]:
    return [{"?": {"id": f"{n:032x}", "type": "io.test.Thing"}, "name": f"n{n}"} for n in range(count)]


@pytest.fixture
def draft(ann: Any) -> tuple[str, str]:
    """An environment and a session whose draft has too many objects."""
    environment = ann.post("/v2/environments", {"name": "large"}).json()["id"]
    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    header = {"x-configuration-session": session}
    answer = ann.put(f"/v1/environments/{environment}/services", objects(content.MOST_COMPARED), headers=header)
    assert answer.status_code == 200, answer.content[:300]
    return environment, session


def test_what_a_request_computes_is_bounded(ann: Any, draft: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    environment, session = draft
    paths = (f"/v2/sessions/{session}/changes", f"/v2/environments/{environment}/topology?session={session}")
    for path in paths:
        answer = ann.get(path)
        assert answer.status_code == 413 and "10,000 objects" in answer.json()["error"]["message"]
    row = Session.objects.get(id=session)
    number = State.objects.create(environment_id=environment, number=1, model=row.draft).number
    assert ann.get(f"/v2/environments/{environment}/compare?from=0&to={number}").status_code in (404, 413)
    # Nothing is lost, and what is read as it is can be read.
    assert ann.get(f"/v2/sessions/{session}").status_code == 200
    model = ann.get(f"/v1/environments/{environment}/services", headers={"x-configuration-session": session})
    assert len(model.json()) == content.MOST_COMPARED
    monkeypatch.setattr(content, "MOST_COMPARED", content.MOST_COMPARED + 100)
    assert [ann.get(path).status_code for path in paths] == [200, 200]


def test_pages_say_so(ann: Any, browser: Any, draft: tuple[str, str]) -> None:
    environment, _ = draft
    page = browser(ann).get(f"/app/environments/{environment}/topology")
    assert page.status_code == 413 and b"10,000" in page.content.replace(b"10.000", b"10,000")
