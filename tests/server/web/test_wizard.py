"""The wizard's pages: from the catalog to an object in the draft, step by step."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.server.forms.conftest import SHOP
from tests.server.web.pagekit import followed, opened

Browser = Callable[[Any], Client]


def services(person: Any, environment: str) -> list[dict[str, Any]]:
    from vetro.server.environments import drafts
    from vetro.server.environments.models import Session

    session = Session.objects.filter(environment_id=environment).order_by("-updated").first()
    return list(drafts.services(person.caller, environment, [], session.id if session else ""))


def test_a_definition_is_filled_in_page_by_page(browser: Browser, ann: Any, shop: Any, environment: str) -> None:
    client = browser(ann)
    sign = opened(client, f"/app/environments/{environment}/add/{shop.id}")
    assert sign.status == 200 and re.fullmatch(r"/app/forms/[^/]+/1", sign.url)
    assert "</span>Sign<" in sign.text and "</span>Finish<" not in sign.text and ">Advanced</button>" in sign.text
    bad = sign.send(name="corner", size="small")
    assert bad.url != sign.url and re.fullmatch(r"/app/forms/\w{32}/1", bad.url)  # kept since it was answered
    assert "One thing has to be changed" in bad.text and bad.text.count("Begin with a capital") >= 2
    assert 'href="#f-name"' in bad.text and 'aria-invalid="true"' in bad.text and bad.inputs()["t.name"] == ["corner"]
    room = bad.send(name="Corner", size="large")
    assert room.url.endswith("/2")
    back = room.send("back", seats="7")
    assert back.url == bad.url and back.inputs()["t.name"] == ["Corner"]
    room = opened(client, back.send().url)
    assert room.inputs()["t.seats"] == ["7"]
    # The application's name is no page of its own.
    assert "Application Name" in room.text and opened(client, room.url[:-1] + "3").url == room.url
    wrong = room.send(pin="Pa$$w0rd!", tables="3", workflowManagement__application_name="no name")
    assert wrong.url == room.url and "Application Name: Enter a valid value." in re.sub("<[^>]*>", "", wrong.text)
    assert wrong.inputs()["t.workflowManagement/application_name"] == ["no name"]
    review = wrong.send(workflowManagement__application_name="corner")
    assert review.url.endswith("/review"), review.text
    assert "Large one" in review.text and "••••••" in review.text and "Pa$$w0rd" not in review.text
    assert "Pa$$w0rd" not in opened(client, room.url).text and "kept" in opened(client, room.url).text
    done = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert done.url == f"/app/environments/{environment}/" and "Corner shop is in your draft" in done.text
    (made,) = services(ann, environment)
    assert (made["name"], made["size"], made["seats"], made["pin"]) == ("Corner", "large", 7, "Pa$$w0rd!")
    # Who goes back to a page of it learns what became of it, and gets where it went.
    for address in (sign.url, review.url, review.url.replace("review", "")):
        gone = client.get(address)
        assert gone.status_code == 404 and "has been sent already" in gone.content.decode()
        assert f'href="/app/environments/{environment}/">To the environment<' in gone.content.decode()
    assert "sent already" in client.post(review.url.replace("review", "finish")).content.decode()
    elsewhere = browser(ann).get(bad.url).content.decode()
    assert "it was sent, or removed" in elsewhere and 'href="/app/environments/">To the environments<' in elsewhere
    thrown = opened(client, f"/app/environments/{environment}/add/{shop.id}")
    client.post(thrown.url.rsplit("/", 1)[0] + "/discard")
    shown = client.get(thrown.url).content.decode()
    assert "You have thrown this form away" in shown and f'href="/app/environments/{environment}/">' in shown


RICH = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  m: io.murano.metadata
  f: io.murano.metadata.forms
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull(), Meta: {m:Description: {text: "What <b>people</b> see"}}}
  open: {Contract: $.bool().notNull(), Default: true}
  ports: {Contract: [$.int().notNull().check($ > 0)], Default: [80]}
  labels: {Contract: {$.string().notNull(): $.string()}, Default: {}}
  hosts: {Contract: [$.class(Host).owned()]}
  pin: {Contract: $.string(), Meta: {f:Secret: {}}}
  friend: {Contract: $.class(Shop).notOwned()}
  size:
    Contract: $.string().check($ in [small, large])
    Default: small
  zone:
    Contract: $.string().check($ in [ZONES])
    Default: z0
Methods:
  deploy:
    Body: []
""".replace("ZONES", ", ".join(f"z{number}" for number in range(40)))


def parts(page: Any, do: str = "keep", **typed: Any) -> dict[str, str]:
    """What the script would replace, by id, with what the page shows now."""
    have = json.dumps(dict(re.findall(r'id="(f-[^"]*)" data-field="[^"]*" data-mark="([^"]*)"', page.text)))
    answer = page.keep(do, have, **typed)
    assert answer["reload"] is False
    found: dict[str, str] = answer["parts"]
    return found


def button(page: Any, id: str, text: str) -> str:
    """What the button with a text says that is in the field with an id."""
    for given, inner in re.findall(r"<button([^>]*)>(.*?)</button>", page.text[page.text.index(f'id="{id}"') :], re.S):
        if text in (re.sub(r"<[^>]*>", "", inner).strip(), *re.findall(r'aria-label="([^"]*)"', given)):
            return unescape(re.findall(r'value="([^"]*)"', given)[0])
    raise AssertionError(page.text)


def test_lists_maps_and_objects_grow_and_shrink(
    browser: Browser, ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    client = browser(ann)
    row = publish(ann, shop=RICH)
    page = opened(client, f"/app/environments/{environment}/add/{row.id}?source=class")
    assert "What &lt;b&gt;people&lt;/b&gt; see" in page.text
    assert page.inputs()["b.open"] == ["false", "true"]
    # A port more, moved up; with and without the script.
    page = page.send(button(page, "f-ports", "Add Ports"), name="Corner")
    assert page.inputs()["l.ports"][0] == "set"
    items = [place for place in page.inputs() if place.startswith("i") and ".ports/" in place]
    assert len(items) == 2, page.inputs()
    page = page.send(button(page, "f-ports", "Move item 2 up"), ports__1="8080")
    assert [page.inputs()[name] for name in items] == [["8080"], ["80"]]
    # Entries by name; one whose name is there already is not lost.
    page = page.send(button(page, "f-labels", "Add entry Labels"))
    page = page.send(button(page, "f-labels", "Add entry Labels"), **{"labels__+0": "blue"})
    names = sorted(name for name in page.inputs() if name.startswith("x.labels"))
    assert names == ["x.labels/+0"]  # an entry without name is offered once
    fresh = parts(page, **{"labels__+0": "blue"})
    assert fresh == {}
    answer = client.post(page.url, {**page.inputs(), "x.labels/+0": "colour", "s?.labels/+0": "blue", "do": "keep"})
    page = followed(client, answer, page.url)
    assert page.inputs()["x.labels/+0"] == ["colour"]
    # A host, whose fields come with it.
    page = page.send(button(page, "f-hosts", "Add Hosts"))
    types = re.findall(r'value="(\+test.Host[^"]*)"', page.text)
    found = client.get(f"{page.url}/choices?path=/hosts/0&what=existing types&q=hOS").json()
    assert ([item["value"] for item in found["items"]], found["more"]) == (types, False)
    changed = parts(page, hosts__0=types[0])
    assert list(changed) == ["f-hosts-0"] and "<dialog" in changed["f-hosts-0"], changed.keys()
    page = opened(client, page.url)
    bad = page.send(pin="wonder")
    assert bad.url == page.url and 'href="#f-hosts-0-address"' in bad.text and "wonder" not in bad.text
    ready = bad.send(hosts__0__address="10.0.0.1")
    assert ready.url.endswith("/review"), ready.text
    assert "wonder" not in ready.text and "••••••" in ready.text
    followed(client, client.post(ready.url.replace("review", "finish")), "")
    (made,) = services(ann, environment)
    assert (made["ports"], made["labels"], made["pin"]) == ([8080, 80], {"colour": "blue"}, "wonder")
    assert made["hosts"][0]["address"] == "10.0.0.1"
    # Opened again, and saved without a change: everything is as it was.
    edit = opened(client, f"/app/environments/{environment}/edit/{made['?']['id']}")
    assert "Edit Corner" in edit.text and "wonder" not in edit.text
    again = edit.send(button(edit, "f-ports", "Remove item 1")).send(open="false")
    followed(client, client.post(again.url.replace("review", "finish")), "")
    (after,) = services(ann, environment)
    assert after == {**made, "ports": [80], "open": False}


UI = """\
Version: 2.4
Application:
  ?: {type: test.Shop}
  name: $.sign.name
Forms:
  - sign:
      fields:
        - {name: name, type: string, label: <script>alert(1)</script>, description: <img src=x onerror=alert(2)>}
        - {name: size, type: choice, label: Size, choices: [[small, Small one], [large, Large one]], initial: small}
        - {name: tables, type: integer, label: Tables, required: false, enabled: $.sign.size = large}
        - {name: friend, type: test.Shop, label: Friend, required: false}
"""


def test_what_depends_on_an_answer_comes_anew_and_applications_are_added_for_fields(
    browser: Browser, ann: Any, bob: Any, publish: Callable[..., Any], environment: str
) -> None:
    client = browser(ann)
    row = publish(ann, ui=UI)
    page = opened(client, f"/app/environments/{environment}/add/{row.id}")
    assert "<script>alert" not in page.text and "&lt;script&gt;alert(1)" in page.text and "<img src=x" not in page.text
    assert re.search(r'name="t.tables"[^>]* readonly', page.text)
    changed = parts(page, name="Corner", size="large")
    assert list(changed) == ["f-tables"] and "readonly" not in changed["f-tables"]
    page = opened(client, page.url)
    assert (page.inputs()["t.name"], page.inputs()["t.size"]) == (["Corner"], ["large"])
    # An application for the field, from the same catalog; back with it.
    inner = page.send(button(page, "f-friend", "New Corner shop"), name="North")
    assert inner.url != page.url and "for the form that you come from" in inner.text
    review = inner.send(name="Friend", workflowManagement__application_name="friend")
    outer = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert outer.url.endswith("/1") and outer.inputs()["t.name"] == ["North"]
    (friend,) = services(ann, environment)
    assert outer.inputs()["t.friend"] == [friend["?"]["id"]]
    # Nobody else sees the form; it waits in the list; buttons say what they do.
    other = browser(bob)
    for address in (page.url, f"{page.url}/choices?path=/friend", page.url.rsplit("/", 1)[0] + "/review"):
        assert other.get(address).status_code == 404
    assert other.post(page.url, {"do": "next"}).status_code == 404
    assert client.post(page.url, {"do": '{"do": "explode"}'}).status_code == 400
    assert client.post(page.url, {"do": '{"do": "remove", "at": "nothing/3"}'}).status_code == 400
    listed = opened(client, "/app/forms/")
    assert "Corner shop" in listed.text and "street" in listed.text
    again = opened(client, f"/app/environments/{environment}/add/{row.id}")
    assert again.url == page.url and "goes on where you left it" in again.text
    gone = followed(client, client.post(page.url.rsplit("/", 1)[0] + "/discard"), "")
    assert gone.url == f"/app/environments/{environment}/" and client.get(page.url).status_code == 404


def test_a_review_without_an_answer_of_ones_own_shows_what_is_suggested(
    browser: Browser, ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    ui = "Version: 2.3\nApplication:\n  ?: {type: test.Shop}\n  name: $.one.name\nForms:\n- one:\n    fields:\n"
    row = publish(ann, ui=ui + "    - {name: name, type: string, label: Name, initial: Corner}\n")
    page = opened(browser(ann), f"/app/environments/{environment}/add/{row.id}")
    review = page.send()
    assert re.search(r'<details class="advanced" open>.*?<dt>Name</dt><dd>Corner</dd>', review.text, re.DOTALL)


def test_a_form_that_fails_says_so_and_offers_the_other_one(
    browser: Browser, ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    client = browser(ann)
    row = publish(ann, ui="Version: 2.4\nApplication: {?: {type: test.Shop}}\nForms: [{a: {fields: [{name: x}]}}]\n")
    failed = client.get(f"/app/environments/{environment}/add/{row.id}")
    assert failed.status_code == 400
    text = failed.content.decode()
    assert "The form cannot be used" in text and "For whoever maintains the package" in text
    page = opened(client, unescape(re.findall(r'href="([^"]*source=class)"', text)[0]))
    assert page.status == 200 and "s!.name" in page.inputs()


def test_quick_deployment_starts_from_a_model_builder(
    browser: Browser, ann: Any, shop: Any, drain: Callable[[], int]
) -> None:
    client = browser(ann)
    page = opened(client, f"/app/quick/{shop.id}?source=class")
    assert "A large shop" in page.text
    start = opened(client, page.url.rsplit("/", 1)[0] + "/start/large")
    bad = start.send()
    assert bad.status == 422 and 'href="#f-seats"' in bad.text
    # A new object of a class is filled in here, too: its fields come while one chooses.
    kind = next(value for value in re.findall(r'<option value="(\+[^"]*)"', start.text) if "Shop" in value)
    before = json.dumps(dict(re.findall(r'id="(f-[^"]*)" data-field="[^"]*" data-mark="([^"]*)"', start.text)))
    chosen = client.post(
        start.url, {**start.inputs(), "r?.like": kind, "do": "keep", "have": before}, headers={"hx-request": "true"}
    ).json()
    assert list(chosen["parts"]) == ["f-like"] and not chosen["reload"]
    assert 'name="s!.like/name"' in chosen["parts"]["f-like"] and "drawer" in chosen["parts"]["f-like"]
    filled = bad.send(seats="80")
    assert (filled.inputs()["i.seats"], filled.inputs()["s!.name"]) == (["80"], ["Big"])
    review = filled.send()
    task = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert re.fullmatch(r"/app/environments/\w+/tasks/\w+/", task.url)
    assert drain() == 1


@pytest.mark.campaign
def test_quick_deployment_makes_its_environment_when_another_application_is_added_for_a_field(
    browser: Browser, ann: Any, publish: Callable[..., Any], drain: Callable[[], int]
) -> None:
    from vetro.server.environments.models import Environment

    client = browser(ann)
    row = publish(ann, ui=UI)
    page = opened(client, f"/app/quick/{row.id}")
    assert "deployed at once" in page.text and not Environment.objects.exists()
    inner = page.send(button(page, "f-friend", "New Corner shop"), name="North")
    (made,) = Environment.objects.all()
    assert "for the form that you come from" in inner.text
    review = inner.send(name="Friend", workflowManagement__application_name="friend")
    outer = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert outer.url.endswith("/1") and outer.inputs()["t.name"] == ["North"]
    (friend,) = services(ann, made.id)
    assert outer.inputs()["t.friend"] == [friend["?"]["id"]]
    assert "deployed at once" in outer.text and "Continue application adding" not in outer.send(name="North").text
    review = outer.send(name="North", workflowManagement__application_name="north")
    # Which object is used is an answer, also where there was but one; the name was asked on the page, not on one more.
    shown = re.sub(r"\s+", " ", review.text.partition('<details class="advanced"')[0])
    assert "<dt>Friend</dt><dd>friend" in shown and "<dd>north</dd>" in shown and ">Finish<" not in review.text
    task = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert task.url.startswith(f"/app/environments/{made.id}/tasks/")
    assert drain() == 1
    # Thrown away instead, it says what is left.
    page = opened(client, f"/app/quick/{row.id}")
    page.send(button(page, "f-friend", "New Corner shop"), name="South")
    gone = followed(client, client.post(page.url.rsplit("/", 1)[0] + "/discard"), "")
    assert "is still there" in gone.text and Environment.objects.count() == 2


def test_a_package_without_a_form_says_so_before_an_environment_is_made(
    browser: Browser, ann: Any, publish: Callable[..., Any]
) -> None:
    manifest = "Format: '1.4'\nType: Application\nFullName: test.Bare\nName: Bare\nVersion: 1.0.0\n"
    manifest += "Classes: {test.Shop: Shop.yaml, test.Host: Host.yaml}\n"
    publish(ann, manifest=manifest)
    shown = browser(ann).get("/app/catalog/test.Bare/").content.decode()
    assert "has no form" in shown and "/app/catalog/test.Bare/add" not in shown
    page = browser(ann).get("/app/catalog/test.Bare/add")
    assert page.status_code == 400 and "has no form" in page.content.decode()
    assert browser(ann).post("/app/catalog/test.Bare/add", {"environment": "new"}).status_code == 400


@pytest.mark.campaign
def test_a_template_gets_components_by_the_wizard(
    browser: Browser, ann: Any, eve: Any, publish: Callable[..., Any]
) -> None:
    from vetro.server.environments import templates
    from vetro.server.environments.models import Environment, Session, Template

    client = browser(ann)
    row = publish(ann, ui=UI)
    new = client.post("/app/templates/new", {"name": "street", "description": "Shops"})
    address = new["Location"]
    template = Template.objects.get()
    assert address == f"/app/templates/{template.id}/" and "No applications" in client.get(address).content.decode()
    assert client.post("/app/templates/new", {"name": "street"}).status_code == 409
    # The catalog offers the template that one comes from.
    assert client.get(f"{address}add")["Location"] == f"/app/catalog/?template={template.id}"
    assert "The template street" in client.get("/app/catalog/test.Shop/add").content.decode()
    begun = client.post("/app/catalog/test.Shop/add", {"environment": "template"})
    page = opened(client, begun["Location"])
    assert f'href="{address}"' in page.text
    # An application for a field goes into the template, too.
    inner = page.send(button(page, "f-friend", "New Corner shop"), name="North")
    review = inner.send(name="Friend", workflowManagement__application_name="friend")
    outer = followed(client, client.post(review.url.replace("review", "finish")), "")
    review = outer.send(name="North", workflowManagement__application_name="north")
    assert "Add to the template" in review.text
    back = followed(client, client.post(review.url.replace("review", "finish")), "")
    assert back.url == address and "is in the template" in back.text
    friend, north = templates.services(ann.caller, template.id, [])
    assert (friend["name"], north["name"]) == ("Friend", "North")
    # One of them is changed.
    edit = opened(client, f"{address}edit/{north['?']['id']}")
    changed = edit.send(name="West")
    saved = followed(client, client.post(changed.url.replace("review", "finish")), "")
    assert saved.url == address and "is changed in the template" in saved.text
    assert [item["name"] for item in templates.services(ann.caller, template.id, [])] == ["Friend", "West"]
    # Nothing else was made, and nobody else may do that.
    assert not Environment.objects.exists() and not Session.objects.exists()
    stranger = browser(eve)
    assert stranger.get(f"{address}add/{row.id}").status_code == 404
    assert stranger.get(f"{address}edit/{north['?']['id']}").status_code == 404
    templates.update(ann.caller, template.id, {"name": "street", "is_public": True})
    assert stranger.get(f"{address}add/{row.id}").status_code == 404


FIELDS = 300
_CONTRACTS = ("$.string()", "$.int().notNull()", "$.bool()", "$.string().check($ in [a, b, c])")


def calls(work: Callable[[], Any]) -> int:
    """How many functions it calls, those of C among them: the same on each machine, however busy that is."""
    work()  # what is kept afterwards is made here
    count = 0

    def counted(_frame: Any, event: str, _about: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_page_of_300_fields_costs_little(
    browser: Callable[[Any], Client],
    ann: Any,
    publish: Callable[..., Any],
    environment: str,
) -> None:
    head, tail = SHOP.split("  name:\n", 1)[0], SHOP[SHOP.index("Methods:") :]
    rows = [
        f"  p{i}:\n    Contract: {_CONTRACTS[i % 4]}\n    Default: {'abc'[0] if i % 4 == 3 else 1}\n"
        for i in range(FIELDS)
    ]
    row = publish(ann, shop=head + "".join(rows) + re.sub(r"  large:\n.*", "", tail, flags=re.S))
    client = browser(ann)
    page = opened(client, f"/app/environments/{environment}/add/{row.id}?source=class")
    assert page.text.count("data-mark=") >= FIELDS
    shown = calls(lambda: client.get(page.url))
    have = json.dumps(dict(re.findall(r'id="(f-[^"]*)" data-field="[^"]*" data-mark="([^"]*)"', page.text)))
    data = {**page.inputs(), "do": "keep", "have": have}
    kept = calls(lambda: client.post(page.url, data, headers={"hx-request": "true"}))
    assert client.post(page.url, data, headers={"hx-request": "true"}).json() == {"parts": {}, "reload": False}
    print("CALLS", shown, kept)
    # Some 1,300 and 500 a field (60 and 30 milliseconds on a fast machine).
    assert shown < 1_600 * FIELDS
    assert kept < 800 * FIELDS


def test_a_form_whose_package_is_disabled_says_so_and_goes_on_later(
    browser: Browser, ann: Any, shop: Any, environment: str
) -> None:
    from vetro.server.catalog import service

    client = browser(ann)
    page = opened(client, f"/app/environments/{environment}/add/{shop.id}?source=class")
    page = page.send("keep", name="Corner")
    service.change(ann.caller, shop, enabled=False)
    asked = {"environment_id": environment, "class": "test.Shop"}
    shown = client.get(page.url, follow=True)
    text = shown.content.decode()
    assert shown.status_code == 400 and "Enable the package" in text
    assert "test.Shop cannot be used: it is disabled" in text
    assert "it is disabled" in ann.post("/v2/forms", asked).json()["error"]["message"]
    service.change(ann.caller, shop, enabled=True)
    assert opened(client, page.url).status == 200
    service.delete(ann.caller, shop)
    shown = client.get(page.url, follow=True)
    assert shown.status_code == 400 and "is not in the catalog any more" in shown.content.decode()
    assert "disabled" not in ann.post("/v2/forms", asked).json()["error"]["message"]
