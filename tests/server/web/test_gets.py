"""What you get: found out by a plan of the form's own answers, once for a project; what has to be answered is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.catalog.archives import archive
from vetro.server.catalog import service, standard_packages
from vetro.server.environments.models import Environment
from vetro.server.forms import dry_run
from vetro.server.forms.models import FormDraft
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]
PART = {"HX-Request": "true", "HX-Target": "get"}
ADDRESS = "/app/catalog/com.example.Shop/gets"
SHOP = """
Namespaces: {'=': com.example, std: io.murano, res: io.murano.resources}
Name: Shop
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull(), Default: Corner}
Methods:
  deploy:
    Body:
    - $this.setAttr(open, true)
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


CHAIN = """
Namespaces: {'=': com.example, m: io.murano.metadata}
Name: Chain
Extends: Shop
Methods:
  openDoors:
    Body: {Return: 2}
  close:
    Scope: Public
    Meta: {m:Title: {text: Close the doors}}
    Body: {Return: 3}
  count:
    Usage: Static
    Scope: Public
    Body: {Return: 4}
  hide:
    Body: {Return: 5}
"""


def test_actions_that_a_class_inherits_are_told_too(ann: Any, browser: Browser) -> None:
    standard_packages.ensure()
    classes = {"com.example.Shop": SHOP, "com.example.Chain": CHAIN}
    service.import_packages(ann.caller, [archive("com.example.Chain", Name="Chain", classes=classes)])
    told = text(browser(ann).get("/app/catalog/com.example.Chain/gets", headers=PART))
    assert re.findall(r"</svg> ([^<]+)</li>", told) == ["Close the doors", "openDoors"], told


def text(answer: Any) -> str:
    assert answer.status_code == 200, answer
    return str(answer.content.decode())


def test_a_plan_of_the_usual_answers_says_what_one_gets(
    ann: Any, bob: Any, eve: Any, shop: Any, browser: Browser, drain: Any
) -> None:
    client = browser(ann)
    assert 'hx-get="/app/catalog/com.example.Shop/gets' in text(client.get("/app/catalog/com.example.Shop/"))
    before = text(client.get(ADDRESS, headers=PART))
    assert "Rehearse it" in before and "openDoors" in before and not Task.objects.exists()
    assert "It is rehearsed" in text(client.post(ADDRESS, headers=PART))
    drain()
    told = text(client.get(ADDRESS, headers=PART))
    assert "It needs no server" in told and "Rehearse it" not in told and "<html" not in told
    assert not Environment.objects.exists() and not FormDraft.objects.exists()  # nothing is left of it
    assert "It needs no server" in text(browser(bob).post(ADDRESS, headers=PART)) and Task.objects.count() == 1
    assert browser(eve).post(ADDRESS).status_code == 404


def test_what_has_to_be_answered_first_is_named(ann: Any, browser: Browser) -> None:
    standard_packages.ensure()
    asks = SHOP.replace(", Default: Corner", "")
    service.import_packages(ann.caller, [archive("com.example.Shop", classes={"com.example.Shop": asks})])
    client = browser(ann)
    told = text(client.post(ADDRESS, headers=PART))
    assert (
        "It depends on what you answer to:" in told
        and "Title" in told
        and 'action="/app/try/' in told
        and not Task.objects.exists()
    )
    assert "It depends" in text(client.get(ADDRESS, headers=PART)) and not FormDraft.objects.exists()


def test_passwords_are_made_for_a_plan(ann: Any, browser: Browser) -> None:
    """Most applications want one, and said nothing of what one gets."""
    standard_packages.ensure()
    text = SHOP.replace(
        "  title: {",
        "  pin: {Contract: $.string().notNull().check(len($) > 8), Meta: {f:Secret: {}}}\n  title: {",
    ).replace("std: io.murano,", "std: io.murano, f: io.murano.metadata.forms,")
    service.import_packages(ann.caller, [archive("com.example.Shop", Name="Shop", classes={"com.example.Shop": text})])
    told = browser(ann).post(ADDRESS, headers=PART).content.decode()
    assert "It depends on what you answer to:" not in told
    assert Task.objects.get().kind == "plan" and not FormDraft.objects.exists()


def test_a_reader_starts_nothing(people: Any, shop: Any, ann: Any, browser: Browser) -> None:
    rita = people("rita", ann.caller.project_name, "reader")
    client = browser(rita)
    assert "Nobody has rehearsed" in text(client.get(ADDRESS, headers=PART))
    assert client.post(ADDRESS, headers=PART).status_code == 403 and not Task.objects.exists()


def test_what_a_plan_makes_is_counted_by_kind() -> None:
    server = {"name": "a", "type": "OS::Nova::Server", "what": "created", "properties": []}
    stacks = [{"resources": [server, server, {**server, "what": "deleted"}, {**server, "type": "OS::Cinder::Volume"}]}]
    size, address = {"name": "flavor", "new": "m1.small"}, {"name": "ipAddresses", "new": ["10.0.0.2"]}
    sized = {"what": "created", "type": "a.B", "properties": [size, address]}
    # What replicas are made like has a size, too, and is no server.
    like = {**sized, "properties": [size, {"name": "ipAddresses", "new": []}]}
    plan = {"stacks": stacks, "objects": [sized, sized, like], "scripts": [1, 2, 3]}
    found = dry_run.plan_totals(Task(result=plan, spec={"packages": []}))
    assert found.resources == {"servers": 2, "volumes": 1} and found.sizes == {"m1.small": 2} and found.scripts == 3
