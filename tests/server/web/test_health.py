"""How environments are, on pages: badges, the tab, what nobody sees as green."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.server.watch.world import PRETENDED, app, component, instance, made, watched
from vetro.server.environments import packages, power
from vetro.server.environments.models import Environment
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.watch import service
from vetro.server.watch.metrics import Pending

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(ann: Any, browser: Any) -> Client:
    client: Client = browser(ann)
    return client


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_badges_and_the_tab_say_why(ann: Any, pages: Client) -> None:
    row = made(ann, app("a", instance("i")))
    failing = {"key": "k", "name": "page <b>", "state": "down", "text": "no <answer>", "reached": True}
    assert 'data-health="unknown"' in text(pages, "/app/environments/")
    watched(row)
    service.record([(row.id, 1, [component("a", "down", "page: no <answer>", [failing])])], "")
    for path in ("/app/environments/", f"/app/environments/{row.id}/", f"/app/environments/{row.id}/health"):
        page = text(pages, path)
        assert 'data-health="down"' in page and 'data-health="running"' not in page, path
        assert "no <answer>" not in page and "page <b>" not in page
    tab = text(pages, f"/app/environments/{row.id}/health")
    assert "no &lt;answer&gt;" in tab and "page &lt;b&gt;" in tab and "What changed" in tab
    german = pages.get(f"/app/environments/{row.id}/health", headers={"accept-language": "de"}).content.decode()
    assert "Ausgefallen" in german and "Was sich geändert hat" in german


def test_a_component_says_how_it_is_and_why_and_what_is_only_guessed(ann: Any, pages: Client) -> None:
    row = made(ann, app("a", instance("i")), app("b"))
    guess = {"key": "g", "name": "http://10.0.0.5:80", "state": "degraded", "text": "<refused>", "guessed": True}
    watched(row)
    service.record([(row.id, 1, [component("a", "degraded", "nobody <listens>", [guess])])], "")
    for path in (f"/app/environments/{row.id}/components/a/", f"/app/environments/{row.id}/health"):
        page = text(pages, path)
        assert 'data-health="degraded"' in page and "nobody &lt;listens&gt;" in page, path
        assert "http://10.0.0.5:80" in page and "&lt;refused&gt;" in page and "(guessed)" in page, path
    assert (
        "data-health"
        not in text(pages, f"/app/environments/{row.id}/components/b/")
        .partition("<main")[2]
        .partition('class="split"')[2]
    )
    told = ann.get(f"/v2/environments/{row.id}/health").json()["components"][0]
    assert told["health"]["text"] == "nobody <listens>" and told["checks"][0]["guessed"] is True


def test_what_is_simulated_says_so_on_each_page(ann: Any, pages: Client) -> None:
    row = made(ann, app("a", instance("i")), cloud=PRETENDED)
    for path in ("/app/environments/", f"/app/environments/{row.id}/", f"/app/environments/{row.id}/health"):
        assert 'data-health="simulated"' in text(pages, path), path


def test_no_menu_switches_servers_where_the_cloud_cannot(
    ann: Any, pages: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = made(ann, app("a", instance("i")))
    monkeypatch.setattr(power, "able", lambda row: False)
    front = text(pages, f"/app/environments/{row.id}/")
    assert f'action="/app/environments/{row.id}/power"' not in front and 'id="p-a"' not in front


def test_servers_are_switched_from_pages(ann: Any, pages: Client) -> None:
    row = made(ann, app("a", instance("i")), app("b"))
    front = text(pages, f"/app/environments/{row.id}/")
    assert 'id="p-a"' in front and 'id="p-b"' not in front, "only where there are servers"
    assert f'action="/app/environments/{row.id}/power"' in front and "All servers" in front
    refused = pages.post(f"/app/environments/{row.id}/power", {"action": "burn"})
    assert refused.status_code == 400
    answer = pages.post(f"/app/environments/{row.id}/power", {"action": "stop", "what": "a"})
    assert answer.status_code == 302
    task = Task.objects.get(environment_id=row.id)
    assert (task.kind, answer["Location"]) == ("power", f"/app/environments/{row.id}/tasks/{task.id}/")
    assert [step["action"] for step in task.spec["power"]] == ["stop"]
    assert "Stop of servers" in text(pages, answer["Location"])
    assert "Stop of servers" in text(pages, f"/app/environments/{row.id}/tasks/")
    busy = text(pages, f"/app/environments/{row.id}/")
    assert f'action="/app/environments/{row.id}/power"' not in busy and 'id="p-a"' not in busy
    german = pages.get(answer["Location"], headers={"accept-language": "de"}).content.decode()
    assert "Anhalten von Servern" in german


def test_methods_of_applications_are_left_out_by_force_and_the_page_asks_before(
    ann: Any, pages: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = made(ann, app("a", instance("i")))
    path = f"/app/environments/{row.id}/"
    assert "by force" not in text(pages, path), "no package has such methods"
    monkeypatch.setattr(packages, "uses", lambda id, name: (id, name) == (row.id, "io.vetro"))
    front = text(pages, path)
    assert front.count("Stop by force") == 2, "of the component and of all servers"
    asks = "What applications do before a stop is left out: what they would save may be lost. Stop the servers?"
    assert f'name="action" value="stop" data-confirm="{asks}"' in front
    german = pages.get(path, headers={"accept-language": "de"}).content.decode()
    assert "Anhalten erzwingen" in german and "Stop by force" not in german
    for forced in ("", "1"):
        answer = pages.post(f"{path}power", {"action": "stop", "what": "a", **({"force": forced} if forced else {})})
        task = Task.objects.get(id=answer["Location"].split("/")[-2])
        assert [step.get("of") for step in task.spec["power"]] == ([None] if forced else ["stop"])
        assert (task.action or {})["args"] == ({"force": True} if forced else {})
        Task.objects.filter(id=task.id).update(state="done")
        Environment.objects.filter(id=row.id).update(task_id="")


def test_the_page_has_a_chart_that_speaks(ann: Any, pages: Client) -> None:
    row = made(ann, app("a", instance("i", "web <1>")))
    path = f"/app/environments/{row.id}/health"
    assert 'data-metrics="none"' in pages.get(path).content.decode()
    pending, now = Pending(), int(clock.read().timestamp())
    for ago, busy in ((120, 0.5), (60, 0.25)):
        pending.add(row.id, now - ago, {"c-i": [busy, 256 << 20, 512 << 20, 40 << 20]})
    pending.write()
    page = pages.get(path).content.decode()
    assert "web &lt;1&gt;" in page and page.count("<polyline") == 3
    assert 'aria-label="now 0.25, at most 0.50"' in page
    german = pages.get(path, headers={"accept-language": "de"}).content.decode()
    assert "Die letzte Stunde" in german and 'aria-label="jetzt 0,25, höchstens 0,50"' in german
