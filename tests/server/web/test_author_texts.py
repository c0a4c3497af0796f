"""Texts of packages in the language of the page: what a package translates is German there, everything else is as its
author wrote it, and nobody's answers are other ones."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.server.forms.conftest import MANIFEST, SHOP, UI, archive
from tests.server.web.pagekit import Page, opened
from tests.server.web.test_wizard import services
from vetro.server.catalog.models import Package
from vetro.server.environments import deploy as deploying
from vetro.server.environments import service
from vetro.server.forms import form_session

Browser = Callable[[Any], Client]
GERMAN = """\
Corner shop: Eckladen
For tests of forms: Zum Testen von Formularen
too long for a sign: zu lang für ein Schild
small: klein
Rename: Umbenennen
A large shop: Ein großer Laden
Sign: Schild
Name: Wie er heißt
Begin with a capital: Groß anfangen
Size: Größe
Small one: Ein kleiner
Large one: Ein großer
Seats: Plätze
That is no corner shop: Das ist kein Eckladen
"""
DEFINED = MANIFEST
PLAIN = MANIFEST.replace("UI: ui.yaml\n", "")


@pytest.fixture
def german(browser: Browser, ann: Any) -> Client:
    """Ann's browser, which wants German."""
    client = browser(ann)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    return client


def words(page: Page) -> str:
    return unescape(page.text)


def test_a_definition_is_german_from_its_first_step_to_the_review(
    german: Client, publish: Callable[..., Any], ann: Any, environment: str
) -> None:
    shop = publish(ann, german=GERMAN)
    sign = opened(german, f"/app/environments/{environment}/add/{shop.id}")
    assert "<h1>Eckladen</h1>" in sign.text
    assert "</span>Schild<" in sign.text and ">Wie er heißt<" in sign.text and ">Ein kleiner</option>" in sign.text
    assert "Small one" not in sign.text and ">Name<" not in sign.text
    assert "</span>Room<" in sign.text, "what the package does not translate is as it was"
    bad = sign.send(name="corner", size="small")
    assert words(bad).count("Groß anfangen") >= 3  # in the list, at the field, and for the script
    room = bad.send(name="Corner", size="large")
    assert ">Plätze<" in room.text and ">Tables<" in room.text
    assert "Das ist kein Eckladen" in words(room.send(seats="500"))
    review = room.send(seats="7")
    assert ">Größe</dt><dd>Ein großer</dd>" in review.text
    german.post(review.url.replace("review", "finish"))
    (made,) = services(ann, environment)
    assert (made["name"], made["size"], made["seats"]) == ("Corner", "large", 7)


def test_the_form_of_a_class_is_german(german: Client, publish: Callable[..., Any], ann: Any, environment: str) -> None:
    shop = publish(ann, manifest=PLAIN, german=GERMAN)
    page = opened(german, f"/app/environments/{environment}/add/{shop.id}")
    assert ">Wie er heißt<" in page.text and ">Größe<" in page.text and ">Plätze<" in page.text
    assert ">klein</option>" in page.text and ">large</option>" in page.text
    assert "zu lang für ein Schild" in page.text, "the script of the page says it, too"
    bad = page.send(name="A shop with a very long name")
    assert words(bad).count("Zu lang für ein Schild.") + words(bad).count("zu lang für ein Schild") >= 3
    review = bad.send(name="Corner", size='"large"')
    assert ">Wie er heißt</dt><dd>Corner</dd>" in review.text
    german.post(review.url.replace("review", "finish"))
    (made,) = services(ann, environment)
    assert (made["name"], made["size"]) == ("Corner", "large")


def test_english_pages_and_packages_without_translations_stay_as_they_are(
    german: Client, browser: Browser, publish: Callable[..., Any], ann: Any, environment: str
) -> None:
    translated, plain = publish(ann, german=GERMAN), publish(ann, manifest=MANIFEST.replace("1.0.0", "1.1.0"))
    english = opened(browser(ann), f"/app/environments/{environment}/add/{translated.id}")
    assert ">Name<" in english.text and ">Small one</option>" in english.text and "Eckladen" not in english.text
    untold = opened(german, f"/app/environments/{environment}/add/{plain.id}")
    assert ">Name<" in untold.text and ">Small one</option>" in untold.text and "Eckladen" not in untold.text


@pytest.mark.parametrize("manifest", [DEFINED, PLAIN])
def test_answers_make_the_same_object_in_both_languages(
    browser: Browser, german: Client, publish: Callable[..., Any], ann: Any, manifest: str
) -> None:
    shop = publish(ann, manifest=manifest, german=GERMAN)
    made = []
    for client in (browser(ann), german):
        environment = str(service.create(ann.caller, {"name": f"street {len(made)}"})["id"])
        page = opened(client, f"/app/environments/{environment}/add/{shop.id}")
        sent = page.inputs()
        while not page.url.endswith("/review"):
            page = page.send(
                **({"name": "Corner"} if "name" in str(page.inputs().keys()) and page.url.endswith("1") else {})
            )
        client.post(page.url.replace("review", "finish"))
        (found,) = services(ann, environment)
        found.pop("?")
        made.append((sorted(sent), found))
    assert made[0] == made[1]


def test_the_catalog_tells_of_it_in_german_and_finds_it_by_german_words(
    german: Client, browser: Browser, publish: Callable[..., Any], ann: Any
) -> None:
    publish(ann, german=GERMAN)
    tiles = german.get("/app/catalog/").content.decode()
    assert ">Eckladen</a>" in tiles and "Zum Testen von Formularen" in tiles and "For tests" not in tiles
    page = german.get("/app/catalog/test.Shop/").content.decode()
    assert "<h1>Eckladen</h1>" in page and "Zum Testen von Formularen" in page
    asked = german.get("/app/catalog/test.Shop/form", headers={"hx-target": "form"}).content.decode()
    assert "Wie er heißt" in asked and "Plätze" in asked and "Seats" not in asked
    assert "Umbenennen" in german.get("/app/catalog/test.Shop/gets", headers={"hx-target": "get"}).content.decode()
    assert "Eckladen" in german.get("/app/packages/").content.decode()
    found = german.get("/app/catalog/?q=Testen").content.decode()
    assert ">Eckladen</a>" in found
    english = browser(ann)
    assert ">Corner shop</a>" in english.get("/app/catalog/").content.decode()
    assert "For tests of forms" in english.get("/app/catalog/test.Shop/").content.decode()


def test_what_a_class_will_ask_is_german_to_the_messages_of_its_contracts(
    german: Client, browser: Browser, publish: Callable[..., Any], ann: Any
) -> None:
    publish(ann, manifest=PLAIN, german=GERMAN)
    where: dict[str, Any] = {"path": "/app/catalog/test.Shop/form", "headers": {"hx-target": "form"}}
    asked = german.get(**where).content.decode()
    assert "Text, zu lang für ein Schild" in asked and "too long" not in asked
    assert "text, too long for a sign" in browser(ann).get(**where).content.decode()


def test_actions_have_german_titles(
    german: Client, browser: Browser, publish: Callable[..., Any], ann: Any, drain: Callable[[], int]
) -> None:
    shop = publish(ann, german=GERMAN)
    environment = str(service.create(ann.caller, {"name": "street"})["id"])
    begun = form_session.begin(ann.caller, environment_id=environment, package=shop.id, source="class")
    form_session.submit(ann.caller, begun.id, {"name": "Corner", "seats": 1})
    made = form_session.finish(ann.caller, begun.id)
    assert made.session_id is not None
    deploying.deploy(ann.caller, environment, made.session_id)
    assert drain() == 1
    url = f"/app/environments/{environment}/"
    assert ">Umbenennen" in german.get(url).content.decode()
    assert "Rename" not in german.get(f"{url}components/{made.object_id}/").content.decode()
    assert ">Rename" in browser(ann).get(url).content.decode()
    page = opened(german, f"{url}actions/{made.object_id}_rename")
    assert "<h1>Umbenennen</h1>" in page.text and ">Wie er heißt<" in page.text


HOSTILE = """\
Corner shop: "<script>alert('1')</script>{0}%s{{ x }}"
For tests of forms: "<img src=x onerror=alert(1)>"
Name: "'\\"><b>{name}"
Small one: "{% now %}<option>"
Begin with a capital: "</script><i>"
"""


def test_hostile_translations_are_text(german: Client, publish: Callable[..., Any], ann: Any, environment: str) -> None:
    shop = publish(ann, german=HOSTILE.replace("{name}", "").replace("{0}", ""))
    for url in ("/app/catalog/", "/app/catalog/test.Shop/", "/app/catalog/test.Shop/form", "/app/packages/"):
        page = german.get(url).content.decode()
        assert "alert('1')</script>" not in page and "<img src=x" not in page and "<b>" not in page, url
    sign = opened(german, f"/app/environments/{environment}/add/{shop.id}")
    assert "&lt;script&gt;alert(&#x27;1&#x27;)" in sign.text and "%s{{ x }}" in sign.text
    assert "&#x27;&quot;&gt;&lt;b&gt;" in sign.text and "<b>" not in sign.text
    assert "{% now %}&lt;option&gt;" in sign.text
    assert "</script><i>" not in sign.send(name="corner").text


def test_an_import_refuses_translations_that_are_none_or_lose_a_place(ann: Any, publish: Callable[..., Any]) -> None:
    from vetro.server.errors import ServiceError

    for german in ("- a\n", "Name: 'x\u202ey'\n", "Name: '" + "x" * (1 << 20) + "'\n", "Name: 'Name {0}'\n"):
        with pytest.raises(ServiceError) as caught:
            publish(ann, german=german)
        found = (caught.value.details or {})["findings"]
        assert [item["position"]["file"] for item in found if item["severity"] == "error"] == ["locale/de.yaml"]
    row = publish(ann, german="Nobody wrote this: x\nName: Wie er heißt\n")
    assert [(item["code"], item["position"]["line"]) for item in row.findings] == [("PKG117", 1)]


def test_the_same_package_gives_the_same_row(publish: Callable[..., Any], ann: Any, eve: Any) -> None:
    one, other = publish(ann, german=GERMAN), publish(eve, german=GERMAN)
    assert Package.objects.get(id=one.id).texts == Package.objects.get(id=other.id).texts
    assert one.digest == other.digest and archive(german=GERMAN, shop=SHOP, ui=UI) == archive(german=GERMAN)
