"""The list of environments: what each has, how it is, what failed; found by its part and then known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.server.web.test_home import app, instance, made
from vetro.clouds.kinds import KindMissing
from vetro.server.environments import power, queries
from vetro.server.environments.models import Environment
from vetro.server.tasks.models import Task
from vetro.server.watch import drift
from vetro.server.web import environment_summary

Browser = Callable[[Any], Client]
pytestmark = pytest.mark.django_db


def listed(client: Client, part: bool = False) -> str:
    headers = {"HX-Request": "true", "HX-Target": "list"} if part else {}
    answer = client.get("/app/environments/", headers=headers)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_applications_servers_and_drift_are_told(ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    row = made(ann, app("a", instance("i")), app("b"), name="zoo")
    gone = replace(drift.of(queries.get(ann.caller, row.id, model=True)), items=(None, None))  # type: ignore[arg-type]
    monkeypatch.setattr(drift, "of", lambda found: gone)
    client = browser(ann)
    first = listed(client)
    assert 'hx-trigger="load"' in first and "2 applications" not in first
    part = listed(client, part=True)
    assert "2 applications" in part and "1 server" in part and "as they were left" in part
    again = listed(client)
    assert "2 applications" in again and 'hx-trigger="load"' not in again
    Environment.objects.filter(id=row.id).update(version=7)
    assert "2 applications" not in listed(client)


def test_what_failed_last_leads_to_its_task(ann: Any, browser: Browser) -> None:
    row = made(ann, app("a"), name="zoo")
    now = datetime.now(UTC)
    for number, state in enumerate(("failed", "killed", "done")):
        Task.objects.create(
            id=f"t{number}", project_id=ann.caller.project_id, user_id="u", environment_id=row.id, kind="deploy",
            state=state, spec={}, finished=now + timedelta(seconds=number),
        )  # fmt: skip
    assert f'href="/app/environments/{row.id}/tasks/t1/"' in listed(browser(ann))


def test_one_request_finds_out_for_a_second_and_the_next_goes_on(
    ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        made(ann, app(f"a{number}"), name=f"zoo{number}")
    monkeypatch.setattr(environment_summary, "_PATIENCE", -1.0)  # over at once
    client = browser(ann)
    told = [listed(client, part=True).count("1 application<") for _ in range(4)]
    assert told == [1, 2, 3, 4]


def test_the_number_of_statements_does_not_depend_on_how_much_is_known(ann: Any, browser: Browser) -> None:
    client = browser(ann)

    def count() -> int:
        listed(client, part=True)
        with CaptureQueriesContext(connection) as asked:
            listed(client)
        return len(asked)

    made(ann, app("a", instance("i")), name="zoo")
    few = count()
    for number in range(6):
        made(ann, app(f"b{number}", instance(f"j{number}")), name=f"farm{number}")
    assert count() == few


def test_ticked_environments_are_stopped_started_and_deleted_together(
    ann: Any, eve: Any, people: Any, browser: Browser
) -> None:
    rows = [made(ann, app("a", instance("i")), name="north"), made(ann, app("b", instance("j")), name="south")]
    empty, foreign = made(ann, name="empty"), made(eve, app("c", instance("k")), name="foreign")
    Environment.objects.filter(id=empty.id).update(version=0)
    client, ids = browser(ann), [row.id for row in rows]
    page = listed(client)
    assert f'form="together" name="id" value="{ids[0]}"' in page and "data-all hidden" in page
    told = client.post("/app/environments/together", {"id": [*ids, empty.id, foreign.id], "what": "stop"}, follow=True)
    said = told.content.decode()
    assert "Servers of 2 environments are being stopped" in said and "empty: " in said and "foreign" not in said
    assert {task.environment_id for task in Task.objects.filter(kind="power")} == set(ids)
    assert "Tick the environments first" in client.post("/app/environments/together", follow=True).content.decode()
    assert client.post("/app/environments/together", {"id": ids, "what": "burn"}).status_code == 400
    asked = client.post("/app/environments/together", {"id": ids, "what": "delete"}, follow=True).content.decode()
    assert "Delete these 2 environments?" in asked and "north" in asked and "1 server" in asked
    assert asked.count("A task works on it") == 2
    assert client.get(f"/app/environments/delete?id={foreign.id}").status_code == 404
    some = client.get(f"/app/environments/delete?id={foreign.id}&id={ids[0]}&id={'0' * 32}").content.decode()
    assert "Delete this environment?" in some and "north" in some and "foreign" not in some
    done = client.post("/app/environments/delete", {"id": [empty.id, ids[0]]}, follow=True).content.decode()
    assert "1 environment is being deleted" in done and "north: " in done  # a task works on that one
    assert not Environment.objects.filter(id=empty.id).exists() and Environment.objects.filter(id=ids[0]).exists()
    reader = browser(people("rita", ann.caller.project_name, "reader"))
    assert 'id="together"' not in listed(reader)
    assert reader.post("/app/environments/together", {"id": ids, "what": "stop"}).status_code == 403
    assert reader.post("/app/environments/delete", {"id": ids}).status_code == 403


def test_one_whose_cloud_is_gone_keeps_nobody_from_the_others(
    ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [made(ann, app(name, instance(name)), name=name) for name in ("odd", "south")]
    change = power.change

    def changed(caller: Any, id: str, *args: Any, **more: Any) -> Any:
        if id == rows[0].id:
            raise KindMissing("there is no kind of clouds 'gone'")
        return change(caller, id, *args, **more)

    monkeypatch.setattr(power, "change", changed)
    given = {"id": [row.id for row in rows], "what": "stop"}
    told = browser(ann).post("/app/environments/together", given, follow=True).content.decode()
    assert "odd: there is no kind" in told and "Servers of 1 environment are being stopped" in told
