"""Models of very many objects: what compares or draws them refuses, and everything else goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.environments.conftest import plant
from tests.server.web.conftest import browser
from vetro.server import large_requests
from vetro.server.environments import deployments, limits
from vetro.server.environments.models import Session, State
from vetro.server.errors import TooMany
from vetro.server.tasks import queue
from vetro.server.tasks.models import Task

__all__ = ["browser"]
pytestmark = [pytest.mark.django_db, pytest.mark.attack("data", "M7")]


def objects(count: int) -> list[dict[str, Any]]:
    return [{"?": {"id": f"{n:032x}", "type": "io.test.Thing"}, "name": f"n{n}"} for n in range(count)]


@pytest.fixture
def garden(planting: Any) -> Any:
    """An environment that was deployed."""
    return planting(plant())


@pytest.fixture
def draft(ann: Any, settings: Any) -> tuple[str, str]:
    """An environment and a session whose draft has too many objects."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None  # the application measures bodies; not here
    environment = ann.post("/v2/environments", {"name": "large"}).json()["id"]
    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    header = {"x-configuration-session": session}
    answer = ann.put(f"/v1/environments/{environment}/services", objects(limits.MOST_COMPARED), headers=header)
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
    assert len(model.json()) == limits.MOST_COMPARED
    monkeypatch.setattr(limits, "MOST_COMPARED", limits.MOST_COMPARED + 100)
    assert [ann.get(path).status_code for path in paths] == [200, 200]


def test_pages_say_so(ann: Any, browser: Any, draft: tuple[str, str]) -> None:
    environment, _ = draft
    page = browser(ann).get(f"/app/environments/{environment}/topology")
    assert page.status_code == 413 and b"10,000" in page.content.replace(b"10.000", b"10,000")


def test_deployments_of_v1_are_told_up_to_a_budget(garden: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no pages: who has more is told where there are some."""
    paths = (f"/v1/environments/{garden.id}/deployments", "/v1/deployments")
    found = [ann.get(path) for path in paths]
    assert [answer.status_code for answer in found] == [200, 200] and found[0].json()["deployments"]
    monkeypatch.setattr(deployments, "MOST_TEXT", 100)
    for path in paths:
        answer = ann.get(path)
        assert answer.status_code == 413 and b"GET /v2/tasks" in answer.content
    assert ann.get("/v2/tasks").status_code == 200


def test_a_task_that_holds_too_much_is_not_shown(garden: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.objects.filter(environment_id=garden.id).latest("created")
    assert ann.get(f"/v2/tasks/{task.id}").status_code == 200
    monkeypatch.setattr(queue, "MOST_TEXT", 100)
    answer = ann.get(f"/v2/tasks/{task.id}")
    assert answer.status_code == 413 and answer.json()["error"]["code"] == "SRV413"


def test_what_requests_load_together_counts(garden: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever answers large requests comes to the bounds within."""
    size = len(json.dumps(State.objects.filter(environment_id=garden.id).latest("number").model))
    path = f"/v1/environments/{garden.id}"
    with large_requests.bounded():
        assert ann.get(path).status_code == 200
    monkeypatch.setattr(large_requests, "ALL", size // 2)
    with large_requests.bounded(), pytest.raises(large_requests.LargeRequest):
        ann.get(path)
    with large_requests.bounded(TooMany("not now")):
        answer = ann.get(path)
        assert answer.status_code == 429 and b"not now" in answer.content
    with (
        large_requests.bounded(),
        large_requests.at_most(10 * size, TooMany("inner")),
        pytest.raises(large_requests.LargeRequest),
    ):
        ann.get(path)
    with large_requests.bounded(), large_requests.unbounded():
        assert ann.get(path).status_code == 200
