"""The page of an upgrade: only new questions, ticks for what is lost, the draft that the API makes, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.environments.conftest import Garden
from tests.server.environments.conftest import garden_package as garden_package  # fixtures
from tests.server.environments.conftest import planting as planting
from tests.server.environments.test_upgrade_drafts import MANIFEST, STORE, TILL, packed, parts, ready, two
from tests.server.environments.test_upgrade_drafts import shop as shop  # a fixture
from tests.server.web.pagekit import followed, opened
from vetro.model.tree import by_id
from vetro.server.catalog.service import import_packages
from vetro.server.environments import history, upgrades
from vetro.server.environments.models import Session
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.sweep import sweep

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]


def at(shop: Garden, rest: str = "?to=test.shop%3D2.0.0") -> str:
    return f"/app/environments/{shop.id}/upgrade{rest}"


def primary(client: Client, address: str) -> list[str]:
    """The buttons of a page that stand out."""
    found = re.findall(r'<button class="btn btn-primary"[^>]*>(.*?)</button>', client.get(address).content.decode())
    return [re.sub(r"<[^>]+>", "", text).strip() for text in found]


def sessions_of(shop: Garden) -> list[Session]:
    return list(Session.objects.filter(environment_id=shop.id, state=Session.OPENED).exclude(draft=None))


def test_the_badge_leads_to_the_page_that_asks_only_what_is_new(shop: Garden, ann: Any, browser: Browser) -> None:
    client = browser(ann)
    page = client.get(f"/app/environments/{shop.id}/").content.decode()
    address = re.search(r'data-newer="2.0.0" href="([^"]+)"', page)
    assert address is not None and address[1] == at(shop)
    page = opened(client, address[1])
    asked = [name for name in page.inputs() if "." in name and name[0] != "m"]
    assert [name.partition(".")[2] for name in asked] == ["s/mode"]
    assert 'name="drop" value="s.motd"' in page.text and "welcome" in page.text
    assert "listenPort is called port since 2.0.0" in page.text and "portIsUp" in page.text
    assert "Another package requires it." in page.text  # test.parts
    assert "Breaks" in page.text and "CMP" in page.text  # the verdict that is stored with the package
    assert not sessions_of(shop)


def test_the_draft_of_the_page_is_that_of_the_api(shop: Garden, ann: Any, browser: Browser) -> None:
    client = browser(ann)
    page = opened(client, at(shop))
    open_still = page.send(s__mode="fast")  # the value that is lost is not ticked
    assert open_still.status == 422 and "would lose 1 values" in open_still.text and 'value="fast"' in open_still.text
    assert not sessions_of(shop)
    data = {**page.inputs(), "do": "next", "drop": "s.motd"}
    place = next(name for name in data if name.endswith(".s/mode"))
    done = followed(client, client.post(at(shop, ""), {**data, place: "fast"}), "")
    assert done.url.endswith("/changes") and "<dt>version</dt>" in done.text and "?/type" not in done.text
    (mine,) = sessions_of(shop)
    made, _ = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    theirs = Session.objects.get(id=made.id)
    assert (mine.draft, mine.lock, mine.upgrade) == (theirs.draft, theirs.lock, theirs.upgrade)
    # Posted once more: the draft is there already, and there is no third one.
    again = followed(client, client.post(at(shop, ""), {**data, place: "slow"}), "")
    assert again.url.endswith("/changes") and "There is a draft already" in again.text
    assert len(sessions_of(shop)) == 2
    assert "There is a draft already" in opened(client, at(shop)).text
    assert shop.deploy(mine.id).state == "done"
    assert "Nothing newer" in opened(client, at(shop, "")).text


def test_the_draft_is_planned_at_once(shop: Garden, ann: Any, browser: Browser) -> None:
    client = browser(ann)
    data: dict[str, Any] = {**opened(client, at(shop)).inputs(), "do": "next", "drop": "s.motd"}
    place = next(name for name in data if name.endswith(".s/mode"))
    answer = client.post(at(shop, "?then=plan"), {**data, place: "fast"})
    assert f"/app/environments/{shop.id}/plans/" in answer["Location"]
    assert len(sessions_of(shop)) == 1


def test_a_question_without_an_answer_is_told_at_its_field(shop: Garden, ann: Any, browser: Browser) -> None:
    page = opened(browser(ann), at(shop))
    assert "wrong-text" in page.text and "One thing has to be changed" not in page.text
    again = page.send(s__mode="")
    assert again.status == 422 and "One thing has to be changed" in again.text and 'href="#f-s-mode"' in again.text
    assert not sessions_of(shop)


def test_what_was_deployed_meanwhile_is_shown_and_what_was_typed_stays(
    shop: Garden, ann: Any, browser: Browser
) -> None:
    page = opened(browser(ann), at(shop))
    shop.deploy(shop.open())
    again = page.send(s__mode="fast")
    assert again.status == 409 and "was deployed meanwhile" in again.text and 'value="fast"' in again.text
    assert not sessions_of(shop)
    assert again.send(s__mode="fast").status == 422  # now only the tick is missing


def test_a_migration_that_fails_is_told_and_another_version_can_be_chosen(
    shop: Garden, ann: Any, browser: Browser
) -> None:
    import_packages(ann.caller, [two("1 / 0", "2.2.0")])
    page = opened(browser(ann), at(shop, "?to=test.shop%3D2.2.0"))
    assert page.status == 409 and "portIsUp" in page.text and "fails for object" in page.text
    assert 'id="form"' not in page.text and 'value="test.shop=2.0.0"' in page.text
    assert opened(browser(ann), at(shop)).status == 200


def test_nothing_chosen_upgrades_nothing(shop: Garden, ann: Any, browser: Browser) -> None:
    client = browser(ann)
    assert "Choose a version." in opened(client, at(shop, "?to=")).text
    version = opened(client, at(shop)).inputs()["version"][0]
    assert client.post(at(shop, ""), {"to": "", "do": "next", "version": version}).status_code == 200
    assert not sessions_of(shop)


def test_nothing_asked_is_no_form(shop: Garden, ann: Any, browser: Browser) -> None:
    import_packages(ann.caller, [parts("1.5.0")])
    page = opened(browser(ann), at(shop, "?to=test.parts%3D1.5.0"))
    assert "Nothing is asked, and no answer is lost." in page.text and "New questions" not in page.text
    assert page.send().url.endswith("/changes")
    (made,) = sessions_of(shop)
    assert by_id(made.draft["Objects"])["b"]["?"]["type"] == "test.parts.Bolt/1.5.0@test.parts"


MORE = """\
  token: {Contract: $.string().notNull(), Meta: [{f:Secret: {}}]}
  safe: {Contract: $.class(s:Till).notNull().owned()}
  words: {Contract: [$.string().notNull(), 1]}
"""


def test_objects_lists_and_secrets_are_asked_with_the_controls_of_forms(
    shop: Garden, ann: Any, browser: Browser
) -> None:
    manifest = MANIFEST.format(version="3.0.0", name="Store", parts="2")
    store = (STORE % "1").replace("l: io.vetro", "f: io.murano.metadata.forms, l: io.vetro", 1)
    store = store.replace("  till:", f"{MORE}  till:", 1)
    import_packages(ann.caller, [packed(manifest=manifest, Classes__Shop=store, Classes__Till=TILL)])
    page = opened(browser(ann), at(shop, "?to=test.shop%3D3.0.0"))
    names = {name.partition(".")[2] for name in page.inputs() if "." in name}
    assert {"s/mode", "s/token", "s/safe", "s/words"} <= names and "s/name" not in names
    parts_ = page.keep(do='{"do": "add", "at": "s/words", "blank": null}', s__mode="fast")["parts"]
    assert list(parts_) == ["f-s-words"]
    # A class is picked for the new object: its own fields come, and what was typed stays.
    page = page.send(s__mode="fast", s__token="canary", s__safe="+test.shop.Till/3.0.0@test.shop")
    assert "s/safe/coins" in page.text and "canary" not in page.text and 'value="fast"' in page.text
    page = page.send('{"do": "add", "at": "s/words", "blank": null}')
    data: dict[str, Any] = {**page.inputs(), "do": "next", "drop": "s.motd"}
    for place, value in {"s/token": "canary", "s/safe/coins": "7", "s/words/0": "one"}.items():
        data[next(n for n in data if n[0] not in "kz" and n.partition(".")[2] == place)] = value
    done = followed(browser(ann), browser(ann).post(at(shop, ""), data), "")
    assert done.url.endswith("/changes"), done.text[-3000:]
    (made,) = sessions_of(shop)
    found = by_id(made.draft["Objects"])["s"]
    assert (found["mode"], found["token"], found["words"], found["safe"]["coins"]) == ("fast", "canary", ["one"], 7)
    assert "canary" not in done.text


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("?to=test.other%3D1.0.0", 400),
        ("?to=test.shop%3D9.9.9", 400),
        ("?to=%3Cscript%3Ealert(1)%3C/script%3E", 400),
        ("?to=test.shop%3Dtwo", 400),
    ],
)
def test_what_there_is_not_is_refused(shop: Garden, ann: Any, browser: Browser, rest: str, status: int) -> None:
    page = opened(browser(ann), at(shop, rest))
    assert page.status == status and "<script>alert" not in page.text


@pytest.mark.parametrize(
    "data",
    [
        {"m.s": "set", "j.s": "[]"},
        {"s.s": "text"},
        {"m.s": "set", "m.s/mode": "set", "s.s/mode/deep": "x"},
        {"m.nobody": "set", "s!.nobody/mode": "x", "drop": "nobody.x"},
        {"m.s": "set", "s!.s/mode": "fast", "drop": ["...", "", "s.port"]},
        {"do": '{"do": "add", "at": "s/mode"}', "m.s": "set", "s!.s/mode": "x"},
    ],
)
def test_whatever_is_posted_makes_no_draft_and_no_defect(
    shop: Garden, ann: Any, browser: Browser, data: dict[str, Any]
) -> None:
    client = browser(ann)
    version = opened(client, at(shop)).inputs()["version"][0]
    answer = client.post(at(shop, ""), {"do": "next", "to": "test.shop=2.0.0", "version": version, **data})
    assert answer.status_code in (200, 400, 409, 422), answer.content
    assert not sessions_of(shop)


def test_others_see_nothing_of_it(shop: Garden, ann: Any, eve: Any, browser: Browser) -> None:
    stranger = browser(eve)
    assert stranger.get(at(shop)).status_code == 404
    assert stranger.post(at(shop, ""), {"do": "next", "to": "test.shop=2.0.0"}).status_code == 404


def test_a_draft_that_was_discarded_can_be_made_anew(shop: Garden, ann: Any, browser: Browser) -> None:
    session, _ = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    client = browser(ann)
    assert "There is a draft already" in opened(client, at(shop)).text
    history.discard(ann.caller, shop.id, session.id)
    assert "New questions" in opened(client, at(shop)).text


def settled(shop: Garden) -> None:
    """The update was deployed, and its time to settle, where its cloud executes something, is over; all is well."""
    shop.drain()
    for row in Procedure.objects.filter(environment_id=shop.id, step="settling"):
        row.record = {**row.record, "since": 1.0, "until": 2.0}
        row.wake_at = row.created
        row.save()
    sweep(lambda row: {})
    shop.drain()


def test_an_upgrade_with_way_back_is_one_button(shop: Garden, ann: Any, browser: Browser) -> None:
    """Its page tells the steps; while it is held it explains what taking it back does, and does it."""
    client, here = browser(ann), f"/app/environments/{shop.id}"
    page = opened(client, at(shop))
    assert "Upgrade now" in page.text and "An upgrade has a way back" in page.text
    data: dict[str, Any] = {**page.inputs(), "do": "next", "drop": "s.motd"}
    place = next(name for name in data if name.endswith(".s/mode"))
    answer = client.post(f"{here}/upgrade?then=deploy", {**data, place: "fast"})
    assert answer.status_code == 302 and "/updates/" in answer["Location"]
    update = answer["Location"]
    text = opened(client, update).text
    assert "everything is kept as it is" in text and "What taking it back does" in text
    assert f'href="{update}"' in opened(client, f"{here}/").text  # the banner leads here from everywhere
    settled(shop)
    text = opened(client, update).text
    assert "The update is done and stays" in text and "What taking it back does" not in text
    assert client.post(f"{update}/decide", {"do": "undo"}).status_code == 409
    assert client.get(f"{here}/updates/{'f' * 32}").status_code == 404


def test_a_draft_is_deployed_with_a_way_back_that_stays_open(shop: Garden, ann: Any, browser: Browser) -> None:
    client, here = browser(ann), f"/app/environments/{shop.id}"
    made, _ = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    text = opened(client, f"{here}/changes").text
    assert "Way back" in text and "Upgrade with way back" in text
    # One button is the first: three stood side by side.
    assert primary(client, f"{here}/changes") == ["Upgrade with way back"]
    planned = client.post(f"{here}/plan")["Location"]
    shop.drain()
    assert primary(client, planned) == ["Upgrade with way back"]
    assert "Deploy without way back" in opened(client, planned).text
    answer = client.post(f"{here}/deploy", {"draft": made.id, "guard": "1", "hold": "3600"})
    update = answer["Location"]
    settled(shop)
    text = opened(client, update).text
    assert "done; can be taken back" in text
    assert "listenPort" in text and "welcome" in text  # what comes back
    assert client.post(f"{update}/decide", {"do": "undo"}).status_code == 302
    shop.drain()
    assert "waits until all is as well as before" in opened(client, update).text
    sweep(lambda row: {})
    shop.drain()
    assert "taken back: all is as it was before" in opened(client, update).text
    assert "Taken back" in opened(client, f"{here}/history").text
