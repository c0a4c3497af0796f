"""Environments that go: what belongs to a large one goes in steps, and what a kill left behind is found."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.environments.conftest import plant
from vetro.server.environments import deploy, removal
from vetro.server.environments.models import Environment, InstanceUsage, Session, State

pytestmark = pytest.mark.attack("data", "M6")
MANY = 750


@pytest.fixture
def large(planting: Any) -> Any:
    """An environment with many states and drafts, and its neighbour."""
    found = planting(plant())
    row = Environment.objects.get(id=found.id)
    State.objects.bulk_create(State(environment=row, number=1000 + n, model={"n": n}) for n in range(MANY))
    Session.objects.bulk_create(Session(environment=row, user_id="u", version=0) for _ in range(MANY))
    return found


def left(id: str) -> int:
    return sum(table.objects.filter(environment_id=id).count() for table in (State, Session, InstanceUsage))


def test_a_large_one_goes_in_steps(large: Any, ann: Any, django_capture_on_commit_callbacks: Any) -> None:
    beside = ann.post("/v2/environments", {"name": "beside"}).json()["id"]
    with django_capture_on_commit_callbacks() as after, CaptureQueriesContext(connection) as asked:
        deploy.delete(large.caller, large.id, abandon=True)
    assert not Environment.objects.filter(id=large.id).exists() and left(large.id) >= 2 * MANY
    assert not any(f'DELETE FROM "{State._meta.db_table}"' in query["sql"] for query in asked)
    assert ann.get(f"/v2/environments/{large.id}").status_code == 404
    session = Session.objects.filter(environment_id=large.id).values_list("id", flat=True).first()
    assert ann.get(f"/v2/sessions/{session}").status_code == 404

    with CaptureQueriesContext(connection) as asked:
        for callback in after:
            callback()
    assert left(large.id) == 0
    assert sum(f'DELETE FROM "{State._meta.db_table}"' in query["sql"] for query in asked) >= MANY // 100
    assert ann.get(f"/v2/environments/{beside}").status_code == 200 and left(beside) > 0


def test_what_a_kill_left_is_found_and_nothing_else(large: Any, ann: Any) -> None:
    beside = ann.post("/v2/environments", {"name": "beside"}).json()["id"]
    deploy.delete(large.caller, large.id, abandon=True)  # and what was to come after it never did
    count, kept = left(large.id), left(beside)
    assert removal.drop_rows(beside) == 0
    assert removal.drop_leftovers() >= count
    assert (left(large.id), left(beside)) == (0, kept)
    assert removal.drop_leftovers() == 0


def test_a_small_one_goes_at_once(planting: Any) -> None:
    garden = planting(plant())
    deploy.delete(garden.caller, garden.id, abandon=True)
    assert left(garden.id) == 0
