"""Every page and every answer of /v2 about an environment whose cloud executes nothing says so, and none leads to a
server of it. The routes are those that there are: a new one is in this walk at once, or says here why it is not.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import close_old_connections, transaction
from django.test import Client

from tests.server.conftest import installed
from tests.server.layers import People, layer
from tests.server.roles import requests
from tests.server.roles.routes import Route, routes
from tests.server.roles.world import build, values
from tests.server.web.conftest import _ended, browser
from vetro.server import setup
from vetro.server.environments.models import Environment, Session, State
from vetro.server.environments.simulation import HEADER
from vetro.server.tasks.models import Report
from vetro.server.tasks.worker import run_queued

__all__ = ["_ended", "browser"]

pytestmark = pytest.mark.django_db

#: Addresses that name an environment, or something of one.
NAMES = frozenset({"environment", "environment_id", "session_id", "task", "task_id", "form", "form_id"})
#: Routes that are not in the walk, and why.
OTHERS = {
    "/app/environments/{environment}/tasks/{task}/lines": "lines for a page that says it",
    "/app/environments/{environment}/tasks/{task}/lines/{seq}": "a line for a page that says it",
    "/app/forms/{form}/{number}/choices": "values for a page that says it",
}
#: What nobody can follow.
ADDRESS = "198.51.100.7"


@layer(installed)
def made(people: People) -> dict[str, str]:
    """The rows of `world`."""
    ann = people("ann")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "record"}))
        of = build(ann, "test", "canary", run_queued)
    of["category"] = ann.get("/v2/categories").json()["items"][0]["id"]
    where = {"url": f"http://{ADDRESS}/shop", "ipAddresses": [ADDRESS], "openstackId": "s-1"}
    state = State.objects.filter(environment_id=of["environment"]).order_by("-number")[0]
    state.model["Objects"]["applications"][0] |= where
    state.save()
    for draft in Session.objects.filter(environment_id=of["environment"], draft__isnull=False):
        draft.draft["Objects"]["applications"][0] |= where
        draft.save()
    of["seq"] = str(Report.objects.filter(task_id=of["task"]).earliest("seq").seq)
    return of


@pytest.fixture
def world(made: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """One of everything, in a cloud that executes nothing; its server has an address and a page."""
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "record"}))
    return made


def about(door: str) -> list[Route]:
    """The routes of a door that name an environment."""
    return [route for route in routes() if route.door == door and set(route.names) & NAMES]


def answered(client: Client, route: Route, of: dict[str, str]) -> Any:
    """What a route answers; what it changed is undone."""
    with transaction.atomic():
        answer = requests.send(client, route, route.at(values(of, route.path)), of)
        answer.page = b"" if answer.streaming else answer.content
        if answer.streaming:  # of others the client did so, without what ends connections
            request_finished.disconnect(close_old_connections)
            answer.close()
            request_finished.connect(close_old_connections)
        transaction.set_rollback(True)
    return answer


def test_every_page_of_it_says_so_and_leads_to_no_server(ann: Any, browser: Any, world: dict[str, str]) -> None:
    client, shown, files, addresses = browser(ann), [], [], 0
    for route in about("pages"):
        if route.method != "GET" or route.path in OTHERS:
            continue
        answer = answered(client, route, world)
        if answer.status_code == 200 and "html" not in answer.headers["Content-Type"]:
            assert answer.headers.get(HEADER) == "true", route
            files.append(route.path)
        elif answer.status_code == 200:
            page = answer.page.decode()
            assert "data-simulated" in page and "nothing of this environment exists" in page, route
            assert re.search(rf'(href|src|action)="[a-z+]*:?//[^"]*{re.escape(ADDRESS)}', page) is None, route
            addresses += page.count(ADDRESS)
            shown.append(route.path)
        else:
            # A form without such a page, and pages that lead to a form.
            assert answer.status_code == (404 if "builder" in route.names else 302), (route, answer.status_code)
    assert len(shown) >= 17 and addresses > 2, shown
    assert len(files) >= 3, files  # what is no page says it in its head
    assert [path for path in OTHERS if Route(path, "GET") not in routes()] == [], "these are no more"


@pytest.fixture
def mixed(world: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The same where new environments are real: no page says for others that this one is not."""
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "proot"}))
    Environment.objects.filter(id=world["environment"]).update(cloud={"kind": "record"})
    return world


def test_pages_that_list_environments_and_deployments_say_so(ann: Any, browser: Any, mixed: dict[str, str]) -> None:
    """All pages that name the environment, whatever they are about."""
    client, named = browser(ann), []
    for route in routes():
        if route.door != "pages" or route.method != "GET" or set(route.names) & NAMES:
            continue
        page = answered(client, route, mixed).page.decode("utf-8", "replace")
        if mixed["environment"] in page and "<html" in page:
            named.append(route.path)
            said = ('data-health="simulated"', "data-simulated", ">Simulated<", " (simulated)<")
            assert any(text in flat(page) for text in said), route
    assert {"/app/environments/", "/app/environments/deployments", "/app/catalog/{fqn}/", "/app/notices/"} <= set(named)


#: Answers of /v2 that only name environments, and why that is enough.
NAMED_ONLY = {
    "/v2/audit": "who did what: the name of the environment, and nothing of how it is",
    "/v2/forms": "forms in work, with the id of what they are for",
    "/v2/notices/rules": "what is to be told, not how anything is",
}


def test_answers_that_list_environments_say_so(ann: Any, mixed: dict[str, str]) -> None:
    """All answers that name the environment, whatever they are about."""
    named = set()
    for route in routes():
        if route.door != "v2" or route.method != "GET" or set(route.names) & NAMES or route.path in NAMED_ONLY:
            continue
        answer = answered(ann._client, route, mixed)
        text = answer.page.decode("utf-8", "replace")
        if mixed["environment"] in text:
            named.add(route.path)
            assert '"simulated": true' in text or answer.headers.get(HEADER) == "true", route
    assert len(named) >= 5 and "/v2/packages/{package_id}/usage" in named, named
    assert [path for path in NAMED_ONLY if Route(path, "GET") not in routes()] == [], "these are no more"


def flat(page: str) -> str:
    """A page without what icons are drawn by."""
    return re.sub(r"<svg.*?</svg>\s*", "", page, flags=re.DOTALL)


def test_every_answer_about_it_says_so(ann: Any, world: dict[str, str]) -> None:
    """Those of changes, too; whoever only counts rows finds it in each of them."""
    seen = []
    for route in about("v2"):
        answer = answered(ann._client, route, world)
        if answer.status_code < 400:
            assert answer.headers.get(HEADER) == "true" or gone(route, answer), route
            seen.append(route)
        else:
            # A form without such a page, no servers, no such file; what is refused changes nothing.
            known = route.method != "GET" or {"builder", "server", "file"} & set(route.names)
            assert known, (route, answer.status_code)
    assert len(seen) > 30 and {route.method for route in seen} >= {"GET", "POST", "PATCH", "DELETE"}, seen
    id = world["environment"]
    (row,) = [row for row in ann.get("/v2/environments").json()["items"] if row["id"] == id]
    assert row["simulated"] is ann.get(f"/v2/environments/{id}").json()["simulated"] is True
    tasks = ann.get("/v2/tasks").json()["items"]
    assert len(tasks) > 2 and all(task["simulated"] for task in tasks)
    assert ann.get(f"/v2/tasks/{world['task']}").json()["simulated"] is True


def test_every_answer_of_the_recorded_api_says_so_in_its_head(ann: Any, world: dict[str, str]) -> None:
    """Its bodies are those that published clients know."""
    seen = []
    for route in about("v1"):
        answer = answered(ann._client, route, world)
        if answer.status_code < 300:
            assert answer.headers.get(HEADER) == "true" or route.method == "DELETE", route
            seen.append(route)
    assert len(seen) > 12, seen


def gone(route: Route, answer: Any) -> bool:
    """Whether it took away what it was about: a draft, a form."""
    return route.method == "DELETE" and answer.status_code == 204


@pytest.fixture
def real(world: dict[str, str]) -> str:
    """The same environment, as if another cloud had made it."""
    Environment.objects.filter(id=world["environment"]).update(cloud={"kind": "proot"})
    return world["environment"]


def test_what_is_real_is_not_called_simulated(ann: Any, eve: Any, browser: Any, real: str) -> None:
    answer = ann.get(f"/v2/environments/{real}")
    assert answer.json()["simulated"] is False and HEADER not in answer.headers
    page = browser(ann).get(f"/app/environments/{real}/").content.decode()
    assert "data-simulated" not in page and f'href="http://{ADDRESS}/shop"' in page
    # Nor do others learn what there is: an error says the same whatever it is about.
    Environment.objects.filter(id=real).update(cloud={"kind": "record"})
    assert HEADER not in eve.get(f"/v2/environments/{real}").headers
    assert "data-simulated" not in browser(eve).get(f"/app/environments/{real}/").content.decode()


def test_a_button_makes_it_real_where_something_can_be_executed(
    ann: Any, people: Any, browser: Any, world: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the strip, for whoever may deploy; where nothing can be executed it says what could make that so."""
    page, id = f"/app/environments/{world['environment']}/", world["environment"]
    assert "Whoever runs this service" in browser(ann).get(page).content.decode()
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "proot"}))
    Environment.objects.filter(id=id).update(cloud={"kind": "record"})
    reader = people("rob", "demo", "reader")
    shown = browser(reader).get(page).content.decode()
    assert "Whoever may deploy it can make it real" in shown and f'action="{page}realize"' not in shown
    assert browser(reader).post(f"{page}realize").status_code == 403
    client = browser(ann)
    assert f'action="{page}realize"' in client.get(page).content.decode()
    answer = client.post(f"{page}realize")
    assert answer.status_code == 302 and answer.headers["Location"].startswith(f"{page}tasks/")
    shown = client.get(answer.headers["Location"]).content.decode()
    assert "data-simulated" not in shown and "realize" not in shown
