"""Status by task and drafts."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import queries, search, service, sessions
from vetro.server.environments.models import Environment
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.database


@pytest.fixture
def env(ann: Any) -> str:
    return str(service.create(ann.caller, {"name": "e"})["id"])


def status(person: Any, env: str) -> str:
    found = queries.get(person.caller, env)
    (listed,) = queries.of_project(person.caller.project_id)
    ((whole,),) = search.whole(person.caller.project_id)
    assert listed.status == whole[-1] == found.status
    assert [status for status in search.STATUSES if search.count(found.project_id, status=status)] == [found.status]
    return found.status


@pytest.mark.parametrize(
    ("kind", "state", "expected"),
    [
        ("deploy", "queued", "deploying"),
        ("action", "running", "deploying"),
        ("deploy", "needs_person", "deploying"),
        ("destroy", "running", "deleting"),
        *(("deploy", state, "ready") for state in Task.FINAL),
    ],
)
def test_a_task_that_has_not_ended_holds_it(ann: Any, env: str, kind: str, state: str, expected: str) -> None:
    task = Task.objects.create(
        project_id=ann.caller.project_id, user_id="u", environment_id=env, kind=kind, state=state, spec={}
    )
    Environment.objects.filter(id=env).update(task_id=task.id)
    assert status(ann, env) == expected


def test_a_failure_is_shown_before_drafts_and_stale_drafts_do_not_count(ann: Any, env: str) -> None:
    sessions.open_session(ann.caller, env)
    assert status(ann, env) == "pending"
    Environment.objects.filter(id=env).update(failure="deploy failure")
    assert status(ann, env) == "deploy failure"
    Environment.objects.filter(id=env).update(failure="", version=1)
    assert status(ann, env) == "ready"


def test_times_have_a_zone(ann: Any, env: str) -> None:
    found = queries.get(ann.caller, env)
    assert found.created.tzinfo is not None and found.created == Environment.objects.get(id=env).created


def test_parts_follow_on_each_other(ann: Any, eve: Any) -> None:
    names = ["b", "a", "Z", "é", "a b", "aa"]
    mine = {name: str(service.create(ann.caller, {"name": name})["id"]) for name in names}
    service.create(eve.caller, {"name": "aaa"})
    project = ann.caller.project_id
    whole = [(found.name, found.id) for found in queries.of_project(project)]
    assert dict(whole) == mine and queries.count(project) == len(names)
    for most in (1, 2, len(names)):
        listed: list[tuple[str, str]] = []
        while part := queries.part_of(project, listed[-1] if listed else None, most):
            assert len(part) <= most
            listed += [(found.name, found.id) for found in part]
        assert listed == whole
    assert [found.name for found in queries.part_of(None, ("aa", mine["aa"]), 1)] == ["aaa"]
    assert queries.count(None) == len(names) + 1
    assert (queries.part_of("no\0id", None, 5), queries.count("no\0id")) == ([], 0)
