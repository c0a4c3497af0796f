"""Losses that grow between the question and the answer: only what was shown is confirmed, anything else is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.environments.conftest import Garden
from tests.server.environments.test_upgrade_drafts import MANIFEST, STORE, TILL, packed
from tests.server.environments.test_upgrade_drafts import shop as shop  # a fixture
from tests.server.web.conftest import browser as browser  # a fixture
from tests.server.web.conftest import signed_in
from tests.server.web.pagekit import followed, opened
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import delete, import_packages
from vetro.server.procedures.models import Procedure

pytestmark = pytest.mark.django_db

SIGN, MAIL = "the sign above the door\nand its light", "letters that were sent"
POST_OFFICE = """\
Format: '1.4'
Type: Application
FullName: test.letters
Version: 1.0.0
Require: {io.vetro: 1}
Classes: {test.letters.Letter: Letter.yaml}
"""
LETTER = f"""\
Namespaces: {{=: test.letters, std: io.murano, l: io.vetro.lifecycle}}
Name: Letter
Extends: std:Application
Meta: [{{l:NotRestorable: {{what: {MAIL}}}}}]
"""


@pytest.fixture(params=["required", "allowed"])
def guard(request: pytest.FixtureRequest, ann: Any) -> str:
    """What the author of version 3 says of updates; the catalog has it, and another application."""
    return str(request.param)


@pytest.fixture
def offered(shop: Garden, ann: Any, guard: str) -> str:
    """Version 3 is in the catalog: what it does not bring back is a sign."""
    update = "{l:Update: {guard: required}}, " if guard == "required" else ""
    meta = f'Meta: [{update}{{l:NotRestorable: {{what: "{SIGN}"}}}}, '.replace("\n", "\\n")
    store = (STORE % "$old.port").replace("Meta: [", meta, 1)
    manifest = MANIFEST.format(version="3.0.0", name="Store", parts="2")
    import_packages(ann.caller, [packed(manifest=manifest, Classes__Shop=store, Classes__Till=TILL)])
    import_packages(ann.caller, [packed(manifest=POST_OFFICE, Classes__Letter=LETTER)])
    return guard


def drafted(ann: Any, shop: Garden) -> str:
    """The draft of the upgrade."""
    given = {"to": {"test.shop": "3.0.0"}, "answers": {"web": {"mode": "fast"}}, "drops": ["web.motd"]}
    made = ann.post(f"/v2/environments/{shop.id}/upgrades", given)
    assert made.status_code == 201, made.content
    return str(made.json()["session"]["id"])


def grow(ann: Any, session: str) -> None:
    """Somebody adds to the draft what cannot be taken back, either."""
    letter = {"?": {"type": "test.letters.Letter", "id": "letter", "name": "letter"}}
    assert ann.post(f"/v2/sessions/{session}/components", letter).status_code == 201


def test_the_api_refuses_what_was_not_confirmed(shop: Garden, ann: Any, offered: str) -> None:
    session = drafted(ann, shop)
    shown = ann.get(f"/v2/sessions/{session}/way-back").json()
    assert (shown["losses"], shown["required"]) == ([SIGN], offered == "required")
    grow(ann, session)
    for known, missing in (([SIGN], [MAIL]), ([], [SIGN, MAIL])):
        refused = ann.post(f"/v2/sessions/{session}/deploy", {"guard": True, "confirmed": known})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["details"]) == (409, "SRV613", {"losses": missing})
    assert not Procedure.objects.exists() and shop.show()["status"] != "deploying"
    asked_again = ann.get(f"/v2/sessions/{session}/way-back").json()["losses"]
    assert asked_again == [SIGN, MAIL]
    done = ann.post(f"/v2/sessions/{session}/deploy", {"guard": True, "confirmed": asked_again})
    assert done.status_code == 202
    assert Procedure.objects.get().about["losses"] == asked_again


def hidden(text: str) -> list[str]:
    """The losses that a page names."""
    found = re.findall(r'name="known" value="([^"]*)"', text)
    return [one.replace("\n", "\r\n") for one in found]  # as browsers send them


def test_the_page_asks_again(shop: Garden, ann: Any, offered: str) -> None:
    client, here = signed_in(ann), f"/app/environments/{shop.id}"
    session = drafted(ann, shop)
    page = opened(client, f"{here}/changes")
    assert "the sign above the door" in page.text and MAIL not in page.text
    assert ("That is fine" in page.text) == (offered == "required")
    sent = {"draft": session, "guard": "1", "hold": "0", "confirmed": "1", "known": hidden(page.text)}
    grow(ann, session)
    again = followed(client, client.post(f"{here}/deploy", sent), "")
    assert again.url == f"{here}/changes" and not Procedure.objects.exists()
    assert f"not all of it would come back: {MAIL}" in again.text
    known = hidden(again.text)
    assert len(known) == 2
    done = client.post(f"{here}/deploy", {**sent, "known": known})
    assert "/updates/" in done["Location"] and Procedure.objects.exists()


def test_one_button_for_all_means_what_its_page_showed(shop: Garden, ann: Any, offered: str) -> None:
    """Where the author wants a word for it, the page with the draft asks for that."""
    client, here = signed_in(ann), f"/app/environments/{shop.id}"
    page = opened(client, f"{here}/upgrade?to=test.shop%3D3.0.0")
    data: dict[str, Any] = {**page.inputs(), "do": "next", "drop": "s.motd"}
    assert data["known"] == [SIGN]
    place = next(name for name in data if name.endswith(".s/mode"))
    nothing_shown = {**data, place: "fast", "known": []}
    sent = {**data, place: "fast", "known": hidden(page.text)} if offered == "allowed" else nothing_shown
    if offered == "allowed":
        assert client.post(f"{here}/upgrade?then=deploy", sent)["Location"].startswith(f"{here}/updates/")
        return
    again = followed(client, client.post(f"{here}/upgrade?then=deploy", sent), "")
    assert again.url == f"{here}/changes" and "That is fine" in again.text
    assert not Procedure.objects.exists()


def without_name(ann: Any) -> None:
    """Version 2.0.0 comes anew, and has no place for the name any more, either."""
    delete(ann.caller, Package.objects.get(fqn="test.shop", version="2.0.0"))
    store = (STORE % "$old.port").replace("  name: {Contract: $.string().notNull()}\n", "")
    manifest = MANIFEST.format(version="2.0.0", name="Store", parts="2")
    import_packages(ann.caller, [packed(manifest=manifest, Classes__Shop=store, Classes__Till=TILL)])


def test_values_that_are_lost_besides_are_asked_by_the_api(shop: Garden, ann: Any) -> None:
    path = f"/v2/environments/{shop.id}/upgrades"
    given = {"to": {"test.shop": "2.0.0"}, "answers": {"web": {"mode": "fast"}}, "drops": ["web.motd"]}
    assert ann.post(path, {**given, "draft": False}).json()["report"]["ready"]
    without_name(ann)
    error = ann.post(path, given).json()["error"]
    assert error["code"] == "SRV610"
    lost = [one for item in error["details"]["report"]["objects"] for one in item["dropped"] if one["lost"]]
    assert {one["name"]: one["confirmed"] for one in lost} == {"motd": True, "name": False}
    assert ann.post(path, {**given, "drops": ["web.motd", "web.name"]}).status_code == 201


def test_values_that_are_lost_besides_are_asked_by_the_page(
    shop: Garden, ann: Any, browser: Callable[[Any], Client]
) -> None:
    client, here = browser(ann), f"/app/environments/{shop.id}/upgrade"
    page = opened(client, f"{here}?to=test.shop%3D2.0.0")
    data: dict[str, Any] = {**page.inputs(), "do": "next", "drop": "s.motd"}
    place = next(name for name in data if name.endswith(".s/mode"))
    without_name(ann)
    again = client.post(here, {**data, place: "fast"})
    text = again.content.decode()
    assert again.status_code == 422 and 'value="s.motd" checked' in text and 'value="s.name" required' in text
    done = client.post(here, {**data, place: "fast", "drop": ["s.motd", "s.name"]})
    assert done["Location"].endswith("/changes")
