"""Secrets of environment templates stay within their project, through every door, whenever they were stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import orchard, tree
from tests.server.environments.conftest import plant
from tests.server.web.conftest import browser
from vetro.server.environments import templates
from vetro.server.environments.models import Session, Template

__all__ = ["browser", "orchard"]

CANARY = "template-canary-47"
pytestmark = pytest.mark.django_db


def made(person: Any, name: str = "grove", **more: Any) -> str:
    given = {"name": name, "services": [tree(pin=CANARY)], **more}
    return str(person.post("/v1/templates", given).json()["id"])


def stored(id: str) -> Any:
    return Template.objects.get(id=id).model["services"]


def publish_as_before(id: str) -> None:
    """As a release published it that kept what was in it."""
    Template.objects.filter(id=id).update(is_public=True)
    assert CANARY in repr(stored(id))


@pytest.mark.attack("secrets", "H8")
def test_readers_of_the_project_see_marks(people: Callable[..., Any], ann: Any, orchard: None) -> None:
    id = made(ann)
    reed = people("reed", "demo", "reader")
    for path in ("", "/services", "/services/t1", "/services/t1/pin"):
        told, full = reed.get(f"/v1/templates/{id}{path}"), ann.get(f"/v1/templates/{id}{path}")
        assert told.status_code == full.status_code == 200
        assert CANARY not in told.content.decode()
        assert CANARY in full.content.decode()
    for person in (reed, ann):  # /v2 tells nobody
        (service,) = person.get(f"/v2/templates/{id}").json()["services"]
        assert service["pin"] == {"secret": "kept"}


@pytest.mark.attack("secrets", "H8")
@pytest.mark.parametrize("old", [False, True])
def test_other_projects_get_no_secret_of_a_public_template(ann: Any, eve: Any, orchard: None, old: bool) -> None:
    id = made(ann)
    if old:
        publish_as_before(id)
    else:
        assert ann.put(f"/v1/templates/{id}", {"name": "grove", "is_public": True}).status_code == 200
        assert CANARY not in repr(stored(id))  # nobody gets it back
    answers = [eve.get(f"/v1/templates/{id}{path}") for path in ("", "/services", "/services/t1", "/services/0")]
    answers.append(eve.get(f"/v2/templates/{id}"))
    assert [a.status_code for a in answers] == [200] * 5
    assert eve.get(f"/v1/templates/{id}/services/t1/pin").status_code == 404
    for version in ("v1", "v2"):
        begun = eve.post(f"/{version}/templates/{id}/create-environment", {"name": f"made-{version}"})
        copy = eve.post(f"/{version}/templates/{id}/clone", {"name": f"copy-{version}"})
        answers += [begun, copy]
        assert CANARY not in repr(Session.objects.get(id=begun.json()["session_id"]).draft)
        assert CANARY not in repr(Template.objects.get(id=copy.json()["id"]).model)
    assert CANARY.encode() not in b"".join(answer.content for answer in answers)
    unset = {"object": "t1", "type": "test.Tree", "property": "pin"}
    assert eve.get(f"/v2/templates/{id}").json()["unset_secrets"] == [unset]


@pytest.mark.attack("secrets", "A6")
@pytest.mark.parametrize("how", ["create", "clone", "v2", "add", "put"])
def test_a_public_template_never_stores_one(ann: Any, orchard: None, how: str) -> None:
    if how == "create":
        id = made(ann, is_public=True)
    elif how == "clone":
        id = ann.post(f"/v1/templates/{made(ann)}/clone", {"name": "c", "is_public": True}).json()["id"]
    elif how == "v2":
        id = made(ann)
        assert ann.patch(f"/v2/templates/{id}", {"is_public": True}).status_code == 200
    else:
        id = made(ann, is_public=True, services=[tree()])
        if how == "add":
            assert ann.post(f"/v1/templates/{id}/services", tree("t2", pin=CANARY)).status_code == 200
        else:
            assert ann.put(f"/v1/templates/{id}/services/t1", tree(pin=CANARY)).status_code == 200
    assert stored(id) and CANARY not in repr(stored(id))


@pytest.mark.attack("secrets", "A6")
def test_where_no_package_knows_the_class_names_decide(ann: Any) -> None:
    inner = {"?": {"type": "x.Y", "id": "y"}}
    id = made(ann, is_public=True, services=[plant(password=CANARY, apiKey=CANARY, pot={**inner, "token": CANARY})])
    assert stored(id) == [plant(pot=inner)]


def test_the_project_goes_on_with_its_own_secrets(ann: Any, orchard: None) -> None:
    id = made(ann)
    services = ann.get(f"/v2/templates/{id}").json()["services"]
    assert ann.patch(f"/v2/templates/{id}", {"services": [{**services[0], "name": "elm"}]}).status_code == 200
    assert [(s["name"], s["pin"]) for s in stored(id)] == [("elm", CANARY)]
    begun = ann.post(f"/v2/templates/{id}/create-environment", {"name": "wood"}).json()
    assert CANARY in repr(Session.objects.get(id=begun["session_id"]).draft)
    copy = templates.clone(ann.caller, id, {"name": "copy"})
    assert copy["services"][0]["pin"] == CANARY
    lost = ann.patch(f"/v2/templates/{id}", {"services": [tree("new", pin={"secret": "kept"})]})
    assert lost.status_code == 400 and "'pin' of new" in lost.content.decode()


@pytest.mark.attack("secrets", "A6")
def test_saving_an_environment_as_template_leaves_its_secrets_out(ann: Any, orchard: None, browser: Any) -> None:
    begun = ann.post(f"/v1/templates/{made(ann)}/create-environment", {"name": "wood"}).json()
    page = browser(ann)
    answer = page.post(f"/app/environments/{begun['environment_id']}/template", {"name": "from wood"})
    assert answer.status_code == 302, answer.content
    row = Template.objects.get(name="from wood")
    assert row.model["services"][0]["name"] == "t1" and CANARY not in repr(row.model)
    told = page.get(f"/app/templates/{row.id}/").content.decode()
    assert "Secrets to enter" in told and "t1 · pin" in told
    answer = page.post(f"/app/templates/{row.id}/create", {"name": "again"}, follow=True)
    assert "Enter them before you deploy: t1 · pin" in answer.content.decode()


def test_marks_are_not_stored_in_a_new_template(ann: Any, orchard: None) -> None:
    assert stored(made(ann, services=[tree(pin={"secret": "kept"})])) == [tree()]
