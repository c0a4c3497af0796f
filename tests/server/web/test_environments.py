"""The pages about environments: list, one environment, its draft, history, the end."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.server.environments.conftest import garden_package as garden_package  # fixtures
from tests.server.environments.conftest import plant
from tests.server.environments.conftest import planting as planting
from tests.server.watch.world import app, instance, made
from tests.server.web.environment_kit import EVIL, POT, Browser, at, text, words
from tests.server.web.environment_kit import client as client
from tests.server.web.environment_kit import garden as garden
from vetro.server.environments import drafts, history, packages, sessions
from vetro.server.environments.models import Environment, Session


def test_an_empty_list_leads_to_the_first_environment(client: Client) -> None:
    assert "No environments yet" in words(client.get("/app/environments/"))
    answer = client.post("/app/environments/new", {"name": "shop", "description": "for <b>us</b>"})
    made = Environment.objects.get()
    assert answer["Location"] == f"/app/environments/{made.id}/"
    assert "Nothing in it yet" in words(client.get(answer["Location"]))
    page = text(client.get("/app/environments/"))
    assert "shop" in page
    assert "for &lt;b&gt;us&lt;/b&gt;" in page


@pytest.mark.parametrize("name", ["", "x" * 300, "taken"])
def test_a_name_that_does_not_do_is_told_and_kept(client: Client, ann: Any, name: str) -> None:
    client.post("/app/environments/new", {"name": "taken"})
    page = client.post("/app/environments/new", {"name": name, "description": "kept text"})
    assert page.status_code in (400, 409)
    assert 'role="alert"' in page.content.decode()
    assert "kept text" in page.content.decode()
    assert Environment.objects.count() == 1


def test_the_list_is_searched_filtered_sorted_and_paged(client: Client, ann: Any, eve: Any) -> None:
    rows = [Environment(name=f"env {n:03}", project_id=ann.caller.project_id) for n in range(60)]
    rows[7].description_text = "the needle"
    Environment.objects.bulk_create([*rows, Environment(name="foreign", project_id=eve.caller.project_id)])
    first = words(client.get("/app/environments/"))
    assert "env 000" in first and "env 055" not in first and "Page 1 of 2" in first and "foreign" not in first
    assert "env 055" in words(client.get("/app/environments/?page=2"))
    assert "env 055" in words(client.get("/app/environments/?page=99"))
    found = words(client.get("/app/environments/?q=NEEDLE"))
    assert "env 007" in found and "env 008" not in found
    assert "No environment fits" in words(client.get("/app/environments/?state=deploying"))
    part = text(client.get("/app/environments/?q=needle", headers={"HX-Request": "true", "HX-Target": "list"}))
    assert part.startswith('<div id="list"') and "<html" not in part


def test_a_component_shows_state_report_and_no_secret(garden: Any, client: Client) -> None:
    page = text(client.get(at(garden)))
    assert 'id="c-p1"' in page and "Deployed" in page and "filled" in page
    assert f"{at(garden)}actions/p1_water" in page
    inner = text(client.get(at(garden, "components/p1/")))
    assert "fern" in inner and "growing" in inner
    assert "canary-secret" not in page + inner
    assert f"{at(garden)}components/pot/" in inner
    assert client.get(at(garden, "add"))["Location"] == f"/app/catalog/?into={garden.id}"
    assert client.get(at(garden, "components/nosuch/")).status_code == 404


def test_a_draft_shows_what_it_changes_and_is_taken_back(garden: Any, client: Client) -> None:
    session = garden.open()
    garden.set(session, "p1/species", "rose")
    drafts.add_services(garden.caller, garden.id, session, plant("p2", name=EVIL))
    page = words(client.get(at(garden)))
    assert "Changed in the draft" in page and "New in the draft" in page and "Your draft changes 2 objects" in page, (
        words(client.get(at(garden, "changes")))
    )
    changes = text(client.get(at(garden, "changes")))
    assert "<del>fern</del>" in changes and "<ins>rose</ins>" in changes
    assert EVIL not in changes and "&lt;script&gt;" in changes
    client.post(at(garden, "undo"), {"object": "p1"})
    assert "<ins>rose</ins>" not in text(client.get(at(garden, "changes")))
    assert client.post(at(garden, "undo"))["Location"] == at(garden, "changes")
    assert "No changes" in words(client.get(at(garden, "changes")))
    assert not Session.objects.filter(id=session).exists()


def test_removing_is_a_change_of_the_draft_that_can_be_undone(garden: Any, client: Client) -> None:
    assert client.post(at(garden, "components/p1/remove")).status_code == 302
    assert "Removed in the draft" in words(client.get(at(garden)))
    client.post(at(garden, "undo"), {"object": "p1", "from": "components"})
    assert "Removed in the draft" not in words(client.get(at(garden)))
    assert client.post(at(garden, "components/nosuch/remove")).status_code == 404


def test_changes_of_others_are_told_without_their_content(garden: Any, client: Client, bob: Any) -> None:
    session = sessions.open_session(bob.caller, garden.id)
    drafts.add_services(bob.caller, garden.id, session.id, plant("p9", name="bobs plant"))
    page = words(client.get(at(garden)))
    assert "bob" in page and "bobs plant" not in page
    assert "bobs plant" not in words(client.get(at(garden, "changes")))


def test_an_outdated_draft_is_shown_and_thrown_away(garden: Any, client: Client, bob: Any) -> None:
    session = garden.open()
    drafts.add_services(garden.caller, garden.id, session, plant("p5", name="late plant"))
    garden.deploy(garden.open())
    assert "cannot be deployed any more" in words(client.get(at(garden)))
    assert "late plant" in words(client.get(at(garden, "changes")))
    assert client.post(at(garden, "drop"), {"session": "nosuch"}).status_code == 404
    client.post(at(garden, "drop"), {"session": session})
    assert "late plant" not in words(client.get(at(garden, "changes")))


def test_removing_what_others_use_says_who(planting: Any, client: Client) -> None:
    garden = planting(plant(pot=dict(POT)), plant("p2", pot="pot"))
    client.post(at(garden, "components/p2/remove"))
    assert "still used" not in words(client.get(at(garden)))
    client.post(at(garden, "undo"), {"object": "p2"})
    client.post(at(garden, "components/p1/remove"))
    for page in ("", "changes"):
        said = text(client.get(at(garden, page)))
        assert "What this draft removes is still used." in said and f'href="{at(garden, "edit/p2")}">p2</a>' in said
    client.post(at(garden, "undo"), {"object": "p1"})
    assert "still used" not in words(client.get(at(garden)))


def test_history_compares_and_restores(garden: Any, client: Client) -> None:
    session = garden.open()
    garden.set(session, "p1/password", "canary-new")
    garden.set(session, "p1/name", EVIL)
    garden.deploy(session)
    page = words(client.get(at(garden, "history")))
    assert "now" in page and "Plan going back" in page
    for address in ("compare?from=1&to=2", "compare?from=2&to=1", "compare"):
        shown = text(client.get(at(garden, address)))
        assert "password" in shown and "canary" not in shown and EVIL not in shown
    assert client.get(at(garden, "compare?from=1&to=77")).status_code == 404
    # Going back is planned and shown before anything is done.
    planned = client.post(at(garden, "restore/1"))["Location"]
    assert planned.startswith(at(garden, "plans/"))
    garden.drain()
    shown = text(client.get(planned))
    assert "is your draft now, with the packages that it had" in shown and "Deploy this" in shown
    assert history.pending(garden.caller, garden.id, Session.objects.latest("updated").id)


def test_the_lock_and_why_each_version_is_there(garden: Any, client: Client) -> None:
    lock = packages.lock_of(garden.id)
    assert lock is not None
    shown = words(client.get(at(garden, "lock")))
    assert lock.digest() in shown and lock.packages[0].digest[:12] in shown
    assert "p1: class test.Plant → test.garden/1.0.0" in shown
    shown = words(client.get(at(garden, "lock?package=test.garden&version=7.0.0")))
    assert "the catalog does not have it; there is 1.0.0" in shown
    shown = words(client.get(at(garden, f"lock?package={EVIL}&version={EVIL}")))
    assert EVIL not in client.get(at(garden, f"lock?package={EVIL}&version={EVIL}")).content.decode()
    assert "is no version" in shown or "does not use package" in shown


def test_restoring_sets_the_present_draft_aside_and_discarding_brings_it_back(garden: Any, client: Client) -> None:
    garden.set(garden.open(), "p1/species", "rose")
    client.post(at(garden, "restore/0"))
    page = text(client.get(at(garden, "changes")))
    assert "set aside" in page and "rose" not in page and "Destroyed" in page
    client.post(at(garden, "undo"))
    assert "rose" in words(client.get(at(garden, "changes")))


def test_rename_clone_and_template(garden: Any, client: Client) -> None:
    assert client.post(at(garden, "rename"), {"name": "park", "description": "green"}).status_code == 302
    assert "park" in words(client.get(at(garden)))
    assert b'id="whole-description"' not in client.get(at(garden)).content
    for long in (f"Begins. {'word ' * 120}ends & <b>", "Begins.\n1\n2\n3\nends & <b>"):
        assert client.post(at(garden, "rename"), {"name": "park", "description": long}).status_code == 302
        for part in ("", "history"):
            shown = client.get(at(garden, part)).content.decode()
            start, rest = shown.split('id="whole-description">')[1].split("</summary>")
            assert "Begins." in start and "ends" not in start and "ends &amp; &lt;b&gt;</details>" in rest
    assert client.post(at(garden, "rename"), {"name": " "}).status_code == 400
    copy = client.post(at(garden, "clone"), {"name": "park two"})["Location"]
    assert "New in the draft" in words(client.get(copy))
    assert client.post(at(garden, "clone"), {"name": "park two"}).status_code == 409
    template = client.post(at(garden, "template"), {"name": "a park"})["Location"]
    shown = client.get(template)
    assert "test.Plant" in words(shown) and b"canary" not in shown.content
    made = client.post(f"{template}create", {"name": "third park"})["Location"]
    assert "Plant 1.0.0 New in the draft" in words(client.get(made))


def test_an_exported_environment_is_brought_back(garden: Any, client: Client) -> None:
    exported = client.post(at(garden, "export"))
    assert exported["Content-Type"] == "application/zip"
    data = exported.getvalue()
    for how, words_of_state in (("fresh", "New in the draft"), ("exact", "Deployed")):
        archive = SimpleUploadedFile("garden.zip", data, "application/zip")
        given = {"archive": archive, "name": f"garden {how}", "how": how}
        made = client.post("/app/environments/import", given)["Location"]
        assert words_of_state in words(client.get(made))
    assert "Choose the archive" in words(client.post("/app/environments/import", {"name": "x"}), 400)
    broken = SimpleUploadedFile("garden.zip", b"no archive", "application/zip")
    assert client.post("/app/environments/import", {"archive": broken}).status_code == 400


def with_a_resource(archive: bytes) -> bytes:
    """The archive of an environment whose newest state remembers a resource in a cloud."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".json") and b'"Objects"' in data:
                model = json.loads(data)
                model["Attributes"] = [["p1", "io.murano.resources.Instance", "id", "server"]]
                data = json.dumps(model).encode()
            new.writestr(name, data)
    return made.getvalue()


def test_a_copy_that_would_have_no_resources_is_told_what_to_choose(garden: Any, client: Client) -> None:
    exported = client.post(at(garden, "export")).getvalue()
    archive = SimpleUploadedFile("garden.zip", with_a_resource(exported), "application/zip")
    answer = client.post("/app/environments/import", {"archive": archive, "name": "copy", "how": "exact"})
    said = words(answer, 409)
    assert "would have none Choose “A draft with the same applications: nothing counts as deployed”." in said
    assert "fresh" not in said


def test_deleting_says_what_goes_and_abandoning_wants_the_name(garden: Any, client: Client, drain: Any) -> None:
    page = words(client.get(at(garden, "delete")))
    assert "This is destroyed" in page and "p1" in page
    wrong = client.post(at(garden, "delete"), {"how": "abandon", "confirm": "wrong"})
    assert "Type the name" in words(wrong, 400)
    task = client.post(at(garden, "delete"), {"how": "delete"})["Location"]
    drain()
    assert "Done" in words(client.get(task))
    assert client.get(at(garden)).status_code == 404


def test_abandoning_forgets_the_environment(garden: Any, client: Client) -> None:
    answer = client.post(at(garden, "delete"), {"how": "abandon", "confirm": "garden"})
    assert answer["Location"] == "/app/environments/"
    assert not Environment.objects.exists()


def test_metadata_becomes_a_change_of_the_draft(garden: Any, client: Client) -> None:
    assert 'name="key"' in text(client.get(at(garden, "metadata")))
    given = {"of": "p1", "key": ["owner", "", "cost"], "value": [EVIL, "", "12"]}
    assert client.post(at(garden, "metadata"), given).status_code == 302
    page = text(client.get(at(garden, "metadata?of=p1")))
    assert 'value="owner"' in page and EVIL not in page
    assert "metadata" in words(client.get(at(garden, "changes")))
    bad = {"of": "p1", "key": ["a", "a"], "value": ["1", "2"]}
    assert "given twice" in words(client.post(at(garden, "metadata"), bad), 400)
    assert client.get(at(garden, "metadata?of=pot")).status_code == 404


PAGES = [
    "",
    "changes",
    "history",
    "compare",
    "topology",
    "topology.json",
    "health",
    "tasks/",
    "metadata",
    "rename",
    "clone",
    "template",
    "delete",
    "components/p1/",
]


def test_others_learn_nothing_of_an_environment(garden: Any, eve: Any, browser: Browser) -> None:
    stranger = browser(eve)
    for rest in PAGES:
        answer = stranger.get(at(garden, rest))
        page = text(answer, 404).replace("/p1/", "")
        assert not re.search(r"\bp1\b", page), rest  # as a word: random tokens may hold the letters


def test_others_and_readers_change_nothing(garden: Any, eve: Any, people: Any, browser: Browser) -> None:
    before = Session.objects.count()
    stranger, reader = browser(eve), browser(people("rita", role="reader"))
    assert reader.get(at(garden)).status_code == 200
    for rest in ("deploy", "plan", "undo", "drop", "restore/0", "components/p1/remove", "export"):
        assert stranger.post(at(garden, rest)).status_code == 404, rest
        assert reader.post(at(garden, rest)).status_code == 403, rest
        assert reader.get(at(garden, rest)).status_code in (404, 405), rest
    assert Session.objects.count() == before


def test_properties_are_called_as_the_form_calls_them(ann: Any, client: Client) -> None:
    """By the titles of their class, in the language of the page; in words where the class is not to be had."""
    row = made(ann, app("a", instance("i"), listenPort=8080))
    server = client.get(f"/app/environments/{row.id}/components/i/").content.decode()
    assert '<dt title="flavor">Size</dt>' in server and '<dt title="ipAddresses">IP addresses</dt>' in server
    of_no_package = client.get(f"/app/environments/{row.id}/components/a/").content.decode()
    assert '<dt title="listenPort">Listen port</dt>' in of_no_package
