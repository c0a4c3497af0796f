"""The pages about environments: the plan, deploying, what went wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.server.environments.conftest import garden_package as garden_package  # fixtures
from tests.server.environments.conftest import plant
from tests.server.environments.conftest import planting as planting
from tests.server.web.environment_kit import at, text, words
from tests.server.web.environment_kit import client as client
from tests.server.web.environment_kit import garden as garden
from vetro.server.environments import deploy, drafts
from vetro.server.environments.models import Environment, Session
from vetro.server.tasks.models import Task


def test_deploying_leads_to_the_task_and_its_log(garden: Any, client: Client, drain: Any) -> None:
    session = garden.open()
    drafts.add_services(garden.caller, garden.id, session, plant("p2", complain=True))
    answer = client.post(at(garden, "deploy"))
    task = answer["Location"]
    assert task.startswith(at(garden, "tasks/"))
    waiting = words(client.get(task))
    assert "Waiting" in waiting and "Cancel" in waiting
    assert "A task works on the environment" in words(client.get(at(garden, "changes")))
    drain()
    page = text(client.get(task))
    assert "too dry" in page and "<rect" in page and "Retry" not in page
    only = words(client.get(f"{task}?component=p1&level=info"))
    log = only.partition(" Follow ")[2]
    assert "growing" in log and "too dry" not in log
    told = client.get(f"{task}log")
    assert "too dry" in b"".join(told.streaming_content).decode()  # type: ignore[attr-defined]
    assert told["Content-Disposition"].startswith("attachment")
    seq = re.findall(r'data-seq="(\d+)"', text(client.get(f"{task}lines")))
    rest = text(client.get(f"{task}lines?after={seq[-2]}"))
    assert re.findall(r'data-seq="(\d+)"', rest) == seq[-1:]
    assert client.get(task.replace(garden.id, "0" * 32)).status_code == 404


def test_a_deployment_that_went_well_says_so_also_where_nothing_can_be_opened(garden: Any, client: Client) -> None:
    (task,) = Task.objects.filter(environment_id=garden.id, kind="deploy")
    page = words(client.get(at(garden, f"tasks/{task.id}/")))
    assert re.search(r"Done in \d+\.\d s\.", page) and "Open http" not in page


def test_a_log_that_is_too_long_for_a_page_says_so(
    garden: Any, client: Client, drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts.add_services(garden.caller, garden.id, garden.open(), plant("p2", complain=True))
    task = client.post(at(garden, "deploy"))["Location"]
    drain()
    whole = text(client.get(task))
    assert whole.count("data-seq=") > 2 and "Earlier lines are left out" not in whole
    monkeypatch.setattr("vetro.server.web.task_timeline.LINES", 2)
    monkeypatch.setattr("vetro.server.web.views.environments.tasks.LINES", 2)
    short = text(client.get(task))
    assert short.count("data-seq=") == 2 and "Earlier lines are left out" in short


def test_a_failed_deployment_says_why_and_is_retried(planting: Any, client: Client, drain: Any) -> None:
    garden = planting(plant(wilt=True))
    page = words(client.get(at(garden)))
    assert "Deploy failure" in page and "Deploy again" in page and "Perhaps unfinished" in page
    task = re.findall(r'href="([^"]*/tasks/[0-9a-f]{32}/)"', text(client.get(at(garden))))[0]
    shown = words(client.get(task))
    assert "no water" in shown and "Retry" in shown
    # Whose code it was stands in red, and no stack by a name that nobody has given.
    assert "Stopped" not in shown and "stack murano-" not in shown
    again = client.post(f"{task}retry")["Location"]
    assert again != task
    assert client.post(f"{again}cancel", {"reason": "not now"}).status_code == 302
    drain()
    assert "Cancelled" in words(client.get(again))


def test_a_failure_leads_to_what_most_likely_helps(planting: Any, client: Client) -> None:
    """What was given is changed; what the project may not have is looked up; otherwise the same is done again."""
    garden = planting(plant(wilt=True))
    task = Task.objects.get(environment_id=garden.id)

    def fails_with(**error: str) -> None:
        Task.objects.filter(id=task.id).update(error={"message": "no", "frames": [], **error})

    fails_with(code="MPL205", kind="thrown")
    assert "Retry" in text(client.get(at(garden, f"tasks/{task.id}/"))).partition("btn btn-primary")[2][:200]
    fails_with(code="CLD140", kind="limit")
    assert 'btn btn-primary" href="/app/people/quotas"' in text(client.get(at(garden, f"tasks/{task.id}/")))
    fails_with(code="MPL200", kind="contract-violation")
    assert f'btn btn-primary" href="{at(garden, "edit/p1")}"' in text(client.get(at(garden, f"tasks/{task.id}/")))
    fails_with(code="LIB212", kind="error")
    assert f'btn btn-primary" href="{at(garden, "servers")}"' in text(client.get(at(garden, f"tasks/{task.id}/")))


def test_states_are_in_the_words_of_what_is_done(planting: Any, client: Client, drain: Any, ann: Any) -> None:
    made = client.post("/app/environments/new", {"name": "later"})["Location"]
    assert "Not deployed yet" in words(client.get(made))
    garden = planting(plant())
    deploy.call_action(garden.caller, garden.id, "p1_water", {"litres": 1})
    for page in (at(garden), "/app/environments/", "/app/"):
        said = text(client.get(page))
        assert "Action under way" in said and 'data-state="deploying"' not in said, page
    drain()
    assert "Action under way" not in words(client.get(at(garden)))


def test_a_failed_action_is_no_failed_deployment(garden: Any, client: Client, drain: Any) -> None:
    deploy.call_action(garden.caller, garden.id, "p1_water", {"litres": "many"})
    drain()
    answer = client.get(at(garden))
    page = words(answer)
    assert "The action water failed." in page and "Ready" in page and "Perhaps unfinished" not in page
    assert "Deploy failure" not in page and page.count("Deploy again") == 1  # in the menu, as always
    task = re.findall(r'href="([^"]*/tasks/[0-9a-f]{32}/)"', text(answer))[0]
    assert "The action water failed." in words(client.get(task))
    assert "Ready" in words(client.get("/app/environments/"))
    deploy.call_action(garden.caller, garden.id, "p1_water", {"litres": 1})
    drain()
    assert "failed" not in words(client.get(at(garden)))


def test_a_plan_tells_before_anything_happens(garden: Any, client: Client, drain: Any) -> None:
    garden.set(garden.open(), "p1/species", "fern")
    drafts.add_services(garden.caller, garden.id, garden.open(), plant("p2", password="canary-two"))
    plan = client.post(at(garden, "plan"))["Location"]
    assert "rehearsed" in words(client.get(plan))
    drain()
    shown = client.get(plan)
    assert "Deploy this" in words(shown) and "p2" in words(shown)
    assert b"canary" not in shown.content
    drafts.add_services(garden.caller, garden.id, Session.objects.latest("updated").id, plant("p3"))
    assert "The draft has changed since" in words(client.get(plan))
    assert client.get(at(garden, "plans/" + "0" * 32)).status_code == 404


def test_a_plan_tells_which_values_nobody_reads(garden: Any, client: Client, drain: Any) -> None:
    drafts.add_services(garden.caller, garden.id, garden.open(), plant("p2", wings="canary-two"))
    plan = client.post(at(garden, "plan"), headers={"Accept-Language": "de"})["Location"]
    drain()
    shown = client.get(plan, headers={"Accept-Language": "de"})
    assert "Nicht verwendete Werte" in words(shown) and "keine Eigenschaft „wings“" in words(shown)
    assert b"canary" not in shown.content


def test_deployments_of_all_environments_and_of_one(garden: Any, client: Client) -> None:
    assert "garden" in words(client.get("/app/environments/deployments"))
    assert "Deployment" in words(client.get(at(garden, "tasks/")))


def test_changes_that_somebody_else_overtook_are_told_and_nothing_is_deployed(garden: Any, client: Client) -> None:
    session = garden.open()
    garden.set(session, "p1/species", "rose")
    assert f'name="draft" value="{session}"' in text(client.get(at(garden)))
    before = Environment.objects.get(id=garden.id)
    Environment.objects.filter(id=garden.id).update(version=before.version + 1)
    told = words(client.post(at(garden, "deploy"), {"draft": session}), 409)
    assert "Somebody else has deployed this environment" in told and "Session" not in told
    assert Environment.objects.get(id=garden.id).task_id == before.task_id
