"""The pages about templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.environments.conftest import plant
from tests.server.web.environment_kit import text, words
from vetro.server.environments import templates
from vetro.server.environments.models import Environment, Template

Browser = Callable[[Any], Client]


@pytest.fixture
def client(ann: Any, browser: Browser) -> Client:
    """Ann's browser."""
    return browser(ann)


def make(person: Any, name: str = "stencil", **more: Any) -> str:
    given = {"name": name, "services": [plant("p1", name="Fern", password="canary")], **more}
    return f"/app/templates/{templates.create(person.caller, given)['id']}/"


def test_the_list_tells_how_to_make_one_and_is_searched(client: Client, ann: Any, eve: Any) -> None:
    assert "No templates yet" in words(client.get("/app/templates/"))
    make(ann)
    make(eve, "theirs")
    make(eve, "for all", is_public=True)
    page = words(client.get("/app/templates/"))
    assert "stencil" in page and "for all" in page and "theirs" not in page
    assert "for all" not in words(client.get("/app/templates/?q=STENC"))
    assert "No template fits" in words(client.get("/app/templates/?q=nosuch"))
    part = text(client.get("/app/templates/?q=all", headers={"HX-Request": "true", "HX-Target": "list"}))
    assert part.startswith('<div id="list"') and "for all" in part


def test_a_template_shows_names_and_no_values(client: Client, ann: Any) -> None:
    page = text(client.get(make(ann)))
    assert "Fern" in page and "test.Plant" in page and "canary" not in page


def test_an_environment_is_made_from_it(client: Client, ann: Any) -> None:
    template = make(ann)
    assert client.post(f"{template}create", {"name": ""}).status_code == 400
    answer = client.post(f"{template}create", {"name": "grown", "description": "from a template"})
    made = Environment.objects.get()
    assert answer["Location"] == f"/app/environments/{made.id}/"
    assert (made.name, made.description_text) == ("grown", "from a template")
    assert client.post(f"{template}create", {"name": "grown"}).status_code == 409


def test_it_is_edited_cloned_emptied_and_deleted(client: Client, ann: Any) -> None:
    template = make(ann)
    assert client.post(f"{template}edit", {"name": ""}).status_code == 400
    given = {"name": "renamed", "description": "<b>bold</b>", "public": "on"}
    assert client.post(f"{template}edit", given).status_code == 302
    page = text(client.get(template))
    assert "renamed" in page and "&lt;b&gt;bold" in page and "Everybody sees it" in page
    copy = client.post(f"{template}clone", {"name": "copy"})["Location"]
    assert "Fern" in words(client.get(copy))
    client.post(f"{template}components/p1/remove")
    assert "No applications" in words(client.get(template))
    assert client.post(f"{template}delete")["Location"] == "/app/templates/"
    assert [row.name for row in Template.objects.all()] == ["copy"]


def test_what_is_of_others_stays_as_it_is(eve: Any, ann: Any, browser: Browser) -> None:
    stranger = browser(eve)
    own, public = make(ann), make(ann, "public", is_public=True)
    for rest in ("", "create", "edit", "clone"):
        assert stranger.get(own + rest).status_code == 404, rest
    assert "Fern" in words(stranger.get(public))
    assert "Delete" not in words(stranger.get(public))
    for rest in ("edit", "delete", "components/p1/remove"):
        assert stranger.post(public + rest, {"name": "mine now"}).status_code == 404, rest
    assert stranger.post(f"{public}clone", {"name": "mine"}).status_code == 302
    assert Template.objects.get(name="public").model["services"]
