"""Trying an application out: its real form, filled in without an environment, and its plan; nothing is made of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.server.catalog.archives import archive, zipped
from tests.server.web.pagekit import Page, followed, opened
from vetro.server.catalog import service, standard_packages
from vetro.server.environments import plan
from vetro.server.environments import service as environments
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Invalid, NotFound
from vetro.server.forms import dry_run, form_session, submit
from vetro.server.forms.models import FormDraft
from vetro.server.forms.target import FormTarget
from vetro.server.ids import new_id
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]
EXAMPLES = Path(__file__).parents[3] / "examples" / "deploy"
SHOP = """
Namespaces: {'=': com.example, std: io.murano}
Name: Shop
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  site: {Contract: $.string(), Usage: Out}
  source: {Contract: $.string(), Default: 'https://example.com/source'}
Methods:
  deploy:
    Body:
    - $.site: format('http://203.0.113.9/{0}', $.title)
  openDoors:
    Usage: Action
    Body:
    - Return: 1
"""


@pytest.fixture
def shop(ann: Any) -> Any:
    standard_packages.ensure()
    data = archive("com.example.Shop", Name="Shop", classes={"com.example.Shop": SHOP})
    return service.import_packages(ann.caller, [data]).packages[0]


def waiting() -> QuerySet[FormDraft]:
    """Forms that somebody may go on with: of one that was finished the id is kept."""
    return FormDraft.objects.exclude(purpose=FormDraft.ENDED)


def begun(client: Client, package: Any) -> Page:
    """The first page of the form, as whoever presses the button gets it."""
    url = f"/app/try/{package.id}"
    return followed(client, client.post(url), url)


def tried(client: Client, package: Any) -> Any:
    """The review of the form, filled in as a visitor does."""
    page = begun(client, package)
    assert page.status == 200 and "only trying it out" in page.text and "Stop trying" in page.text
    return page.send(title="Corner")


def test_a_form_is_tried_out_with_its_plan_and_nothing_is_made(
    ann: Any, shop: Any, browser: Browser, drain: Any
) -> None:
    client = browser(ann)
    assert f"/app/try/{shop.id}" in client.get("/app/catalog/com.example.Shop/").content.decode()
    review = tried(client, shop)
    assert review.url.endswith("/review") and "What would it do?" in review.text and "Corner" in review.text
    plan = review.url.replace("review", "plan")
    client.post(plan, headers={"HX-Request": "true"})
    drain()
    told = client.get(plan, headers={"HX-Request": "true"}).content.decode()
    assert "http://203.0.113.9/Corner" in told and "Examples: the real addresses" in told
    assert "example.com/source" not in told  # what was asked for is no address of the application
    assert "openDoors" in told and "It needs no server" in told
    assert not Environment.objects.exists() and not Session.objects.exists()
    assert [task.kind for task in Task.objects.all()] == ["plan"]
    # It is no form to come back to, and cannot be sent.
    assert "A form that is not finished" not in client.get("/app/").content.decode()
    assert "Shop" not in client.get("/app/forms/").content.decode()
    form = waiting().get()
    answer = client.post(f"/app/forms/{form.id}/finish")
    assert answer.status_code == 400 and "only tried out" in answer.content.decode()
    with pytest.raises(Invalid):
        form_session.finish(ann.caller, form.id)
    assert not Environment.objects.exists()
    client.post(f"/app/forms/{form.id}/discard")
    assert not waiting().exists()


def test_reading_the_address_stores_nothing_and_its_button_begins(ann: Any, shop: Any, browser: Browser) -> None:
    """Crawlers, previews of links and browsers that load ahead read addresses that nobody wants."""
    client = browser(ann)
    with CaptureQueriesContext(connection) as queries:
        page = opened(client, f"/app/try/{shop.id}?source=class")
    assert not [one["sql"] for one in queries if not one["sql"].startswith(("SELECT", "SAVEPOINT", "RELEASE"))]
    assert page.status == 200 and f'action="/app/try/{shop.id}?source=class"' in page.text
    assert not waiting().exists()
    first = followed(client, client.post(f"/app/try/{shop.id}?source=class"), "")
    assert "only trying it out" in first.text
    assert waiting().get().content["source"] == "class"


def test_whoever_likes_it_deploys_it_with_the_same_answers(ann: Any, shop: Any, browser: Browser, drain: Any) -> None:
    client = browser(ann)
    review = tried(client, shop)
    form = waiting().get()
    assert "Deploy it like this" in review.text
    answer = client.post(f"/app/forms/{form.id}/take", follow=True)
    assert "Is this right?" in answer.content.decode() and "Corner" in answer.content.decode()
    client.post(f"/app/forms/{form.id}/finish")
    drain()
    assert Environment.objects.get().name == "Shop" and not waiting().exists()
    with pytest.raises(NotFound):
        form_session.take(ann.caller, form.id)


def test_who_asks_for_the_plan_of_a_form_that_ends_at_that_moment_asks_no_more(
    ann: Any, shop: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(ann)
    url = tried(client, shop).url.replace("review", "plan")
    planned = form_session.planned

    def later(*args: Any) -> Any:
        waiting().all().delete()
        return planned(*args)

    monkeypatch.setattr(form_session, "planned", later)
    assert client.get(url, headers={"HX-Request": "true"}).status_code == 286  # htmx stops at it
    assert client.get(url, headers={"HX-Request": "true"}).status_code == 286


def test_a_plan_of_servers_that_nobody_has_yet_talks_to_their_agents(ann: Any, drain: Any) -> None:
    """The environment of such a plan is the one in its model: agents ask by its id."""
    standard_packages.ensure()
    folder = EXAMPLES / "com.example.vetro.Database"
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    service.import_packages(ann.caller, [zipped(files)])
    server = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "server"}, "name": "one"}
    server |= {"flavor": "m1.small", "image": "debian-12-murano"}
    database = {"?": {"type": "com.example.vetro.Database", "id": "db"}, "name": "db", "token": "a-long-token-of-it"}
    root = {**environments.model_of(new_id(), "quick", {}), "applications": [{**database, "instance": server}]}
    task = plan.of_new(ann.caller, root)
    drain()
    task.refresh_from_db()
    assert task.state == "done", task.error
    assert [run["plan"] for run in task.result["scripts"]] == ["Install database"]
    found = dry_run.plan_totals(task)
    assert found.resources["servers"] == 1 and found.addresses[0][1].startswith("http://")


def test_who_leaves_or_waits_an_hour_is_forgotten(ann: Any, shop: Any, browser: Browser) -> None:
    client = browser(ann)
    page = begun(client, shop)
    left = page.send("leave", title="Corner")
    assert left.url == "/app/catalog/com.example.Shop/" and not waiting().exists()
    review = tried(client, shop)
    FormDraft.objects.update(updated=datetime.now(UTC) - timedelta(minutes=61))
    assert client.get(review.url).status_code == 404
    for _ in range(12):  # the oldest make room, and make none among forms that somebody means
        begun(client, shop)
    opened(client, f"/app/quick/{shop.id}").send("keep", title="Corner")
    assert FormDraft.objects.filter(purpose="try").count() == 10
    assert FormDraft.objects.filter(purpose="add").count() == 1


def test_a_reader_fills_it_in_and_plans_nothing(people: Any, shop: Any, ann: Any, browser: Browser) -> None:
    rita = people("rita", ann.caller.project_name, "reader")
    client = browser(rita)
    review = tried(client, shop)
    assert "does not let you make plans" in review.text and "Deploy it like this" not in review.text
    form = waiting().get()
    client.post(f"/app/forms/{form.id}/plan")
    assert client.post(f"/app/forms/{form.id}/take").status_code == 403 and not Task.objects.exists()


def test_other_projects_packages_and_other_forms_are_not_tried(eve: Any, ann: Any, shop: Any, browser: Browser) -> None:
    assert browser(eve).get(f"/app/try/{shop.id}").status_code == 404
    client = browser(ann)
    usual = opened(client, f"/app/quick/{shop.id}")
    assert client.post(usual.url.rsplit("/", 1)[0] + "/take").status_code == 400
    with pytest.raises(Invalid):
        form_session.begin(ann.caller, class_name="com.example.Shop", method="openDoors", tried=True)


def test_what_is_made_for_a_field_stands_beside_what_is_tried(
    ann: Any, browser: Browser, drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_packages.ensure()
    ui = """\
Version: 2.3
Application:
  ?: {type: com.example.Front}
  shop: $.first.shop
Forms:
- first:
    fields:
    - {name: shop, type: com.example.Shop, label: Shop}
"""
    front = """
Namespaces: {'=': com.example, std: io.murano}
Name: Front
Extends: std:Application
Properties:
  shop: {Contract: $.class(Shop).notNull()}
Methods:
  deploy:
    Body:
    - $.shop.deploy()
"""
    rows = service.import_packages(
        ann.caller,
        [
            archive("com.example.Shop", Name="Shop", classes={"com.example.Shop": SHOP}),
            archive(
                "com.example.Front", Name="Front", classes={"com.example.Front": front}, files={"UI/ui.yaml": ui},
                UI="ui.yaml", Require={"com.example.Shop": ">=0"},
            ),
        ],
    ).packages  # fmt: skip
    row = next(row for row in rows if row.fqn == "com.example.Front")
    client = browser(ann)
    page = begun(client, row)
    inner = page.send('{"do": "create", "at": "shop", "package": "com.example.Shop"}')
    assert "only trying it out" in inner.text, inner.text
    review = inner.send(title="Nook")
    assert "Add and go back to the form" in review.text
    # Another one, begun in a second window before the first is there: neither takes the other's place.
    second = page.send('{"do": "create", "at": "shop", "package": "com.example.Shop"}').send(title="Cave")
    client.post(second.url.replace("review", "finish"))
    answer = client.post(review.url.replace("review", "finish"))
    assert answer.status_code == 302 and not Environment.objects.exists()
    (kept,) = waiting().all()
    assert [one["title"] for one in kept.content["beside"]] == ["Cave", "Nook"]
    monkeypatch.setattr(submit, "_MOST_BESIDE", 2)
    third = page.send('{"do": "create", "at": "shop", "package": "com.example.Shop"}').send(title="Loft")
    refused = client.post(third.url.replace("review", "finish"))
    assert refused.status_code != 302 and "2 objects at most" in refused.content.decode()
    client.post(third.url.rsplit("/", 1)[0] + "/discard")
    back = opened(client, page.url)
    assert "Shop" in back.text
    nook = next(str(one["?"]["id"]) for one in kept.content["beside"] if one["title"] == "Nook")
    last = back.send(shop=nook)
    assert last.url.endswith("/review"), last.text
    client.post(last.url.replace("review", "plan"), headers={"HX-Request": "true"})
    drain()
    told = client.get(last.url).content.decode()
    assert "http://203.0.113.9/Nook" in told and not Environment.objects.exists()
    # Taken, it deploys all three.
    client.post(last.url.replace("review", "take"))
    client.post(last.url.replace("review", "finish"))
    drain()
    environment = Environment.objects.get()
    found = FormTarget(ann.caller, environment.id, None).found
    assert found is not None and len(found.model["Objects"]["applications"]) == 3
