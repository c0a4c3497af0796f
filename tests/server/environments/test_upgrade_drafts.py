"""Drafts that move what runs to newer versions: what is offered, asked, kept, and deployed."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest

from tests.server.environments.conftest import Garden, garden_package, new_garden
from tests.server.layers import People, layer
from tests.server.web.conftest import signed_in
from vetro.model.tree import by_id
from vetro.server.catalog.service import import_packages
from vetro.server.environments import history, newer_versions, packages, upgrades
from vetro.server.environments.errors import NotYours, UpgradeIncomplete, UpgradeRefused
from vetro.server.environments.models import Session, State
from vetro.server.environments.upgrades import Request
from vetro.server.errors import Conflict, Invalid
from vetro.server.tasks.worker import run_queued

pytestmark = pytest.mark.django_db

MANIFEST = """\
Format: '1.4'
Type: Application
FullName: test.shop
Version: {version}
Require: {{io.vetro: 1, test.parts: '{parts}'}}
Classes: {{test.{name}: Shop.yaml, test.shop.Till: Till.yaml}}
"""
SHOP = """\
Namespaces: {=: test, p: test.parts, s: test.shop, std: io.murano}
Name: Shop
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  listenPort: {Contract: $.int().notNull(), Usage: Const, Default: 80}
  motd: {Contract: $.string(), Default: hello}
  made: {Contract: $.string(), Usage: Out}
  till: {Contract: $.class(s:Till)}
  bolt: {Contract: $.class(p:Bolt)}
Methods:
  deploy: {Body: [{$.made: one}]}
"""
STORE = """\
Namespaces: {=: test, p: test.parts, s: test.shop, std: io.murano, l: io.vetro.lifecycle}
Name: Store
Extends: std:Application
Meta: [{l:Replaces: {name: test.Shop, to: 2.0.0}}]
Properties:
  name: {Contract: $.string().notNull()}
  port: {Contract: $.int().notNull(), Usage: Const, Meta: {l:Renamed: {from: listenPort, to: 2.0.0}}}
  made: {Contract: $.string(), Usage: Out}
  mode: {Contract: $.string().notNull()}
  till: {Contract: $.class(s:Till)}
  bolt: {Contract: $.class(p:Bolt)}
Methods:
  deploy: {Body: [{$.made: two}]}
  portIsUp:
    Usage: Static
    Meta: {l:Migration: {to: 2.0.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      - Return: $old.set(port, %s)
"""
TILL = "Namespaces: {=: test.shop}\nName: Till\nProperties: {coins: {Contract: $.int().notNull(), Default: 0}}\n"
PARTS = "Format: '1.4'\nType: Library\nFullName: test.parts\nVersion: %s\nClasses: {test.parts.Bolt: Bolt.yaml}\n"
BOLT = "Namespaces: {=: test.parts}\nName: Bolt\nProperties: {size: {Contract: $.int().notNull(), Default: 1}}\n"


def packed(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, text in files.items():
            target.writestr(zipfile.ZipInfo(name.replace("__", "/") + ".yaml"), text)
    return buffer.getvalue()


def parts(version: str) -> bytes:
    return packed(manifest=PARTS % version, Classes__Bolt=BOLT)


def one() -> bytes:
    manifest = MANIFEST.format(version="1.0.0", name="Shop", parts="1")
    return packed(
        manifest=manifest,
        Classes__Shop=SHOP,
        Classes__Till=TILL,
    )


def two(port: str = "$old.port + 1000", version: str = "2.0.0", changes: str = "") -> bytes:
    manifest = MANIFEST.format(version=version, name="Store", parts="2")
    more = {"changes": changes} if changes else {}
    return packed(manifest=manifest, Classes__Shop=STORE % port, Classes__Till=TILL, **more)


@layer(garden_package)
def shop(people: People) -> Garden:
    """A deployed shop of version 1, and version 2 in the catalog."""
    caller = people("ann").caller
    import_packages(caller, [parts("1.0.0"), one()])
    garden = new_garden(caller, run_queued)
    session = garden.open()
    till = {"?": {"id": "t", "type": "test.shop.Till"}, "coins": 5}
    bolt = {"?": {"id": "b", "type": "test.parts.Bolt"}, "size": 3}
    application = {"?": {"id": "s", "type": "test.Shop"}, "name": "web", "motd": "welcome", "till": till, "bolt": bolt}
    garden.put(session, application)
    assert garden.deploy(session).state == "done"
    import_packages(caller, [parts("2.0.0"), two()])
    return garden


def ready(**more: Any) -> Request:
    return Request(answers={"web": {"mode": "fast"}}, drops=[("web", "motd")], **more)


def test_newer_releases_are_offered(shop: Garden, ann: Any, eve: Any) -> None:
    import_packages(ann.caller, [two(version="2.1.0-rc.1")])
    offered = newer_versions.offers(ann.caller, shop.id)
    assert [(o.package, o.used, o.to, o.bump) for o in offered] == [
        ("test.parts", ("1.0.0",), "2.0.0", "breaking"),
        ("test.shop", ("1.0.0",), "2.0.0", "breaking"),
    ]
    for call in (
        lambda: newer_versions.offers(eve.caller, shop.id),
        lambda: upgrades.draft(eve.caller, shop.id, ready()),
    ):
        with pytest.raises(NotYours):
            call()


def test_only_the_new_question_is_asked(shop: Garden, ann: Any) -> None:
    with pytest.raises(UpgradeIncomplete) as caught:
        upgrades.draft(ann.caller, shop.id, Request(to={"test.shop": "2.0.0"}))
    report = caught.value.details["report"]
    assert [(q["ref"], q["property"]) for q in report["asked"]] == [("web", "mode")]
    assert report["target"] == {"test.shop": "2.0.0", "test.parts": "2.0.0"}  # pulled along by its requirement
    assert not Session.objects.filter(environment_id=shop.id, state="opened").exists()


def test_an_upgrade_is_a_draft_that_is_deployed(shop: Garden, ann: Any) -> None:
    row = State.objects.filter(environment_id=shop.id).order_by("-number")[0]
    row.model = {**row.model, "Attributes": [["s", "test.Shop", "runs", 1]]}
    row.save()
    session, report = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    assert report["ready"] and {o["id"]: o["new"] for o in report["objects"]} == {
        "s": "2.0.0",
        "t": "2.0.0",
        "b": "2.0.0",
    }
    changed = history.pending(ann.caller, shop.id, session.id)
    assert [item.properties[0].name for item in changed if item.id == "s"] == ["?/type"]
    task = shop.deploy(session.id)  # the port is Const, and another one than before: the migration made it
    assert task.state == "done", task.outcome
    model = State.objects.filter(environment_id=shop.id).order_by("-number")[0].model
    store = by_id(model["Objects"])["s"]
    assert store["?"]["type"] == "test.Store/2.0.0@test.shop"
    assert (store["port"], store["mode"], store["made"]) == (1080, "fast", "two") and "motd" not in store
    assert by_id(model["Objects"])["b"]["?"]["type"] == "test.parts.Bolt/2.0.0@test.parts"
    assert ["s", "test.Store", "runs", 1] in model["Attributes"]
    shop.deploy(shop.open())  # the first one had the old code, too, for what it might have to destroy
    lock = packages.lock_of(shop.id)
    assert lock is not None and lock.versions() == {"test.parts": ["2.0.0"], "test.shop": ["2.0.0"]}
    assert newer_versions.offers(ann.caller, shop.id) == []
    with pytest.raises(Conflict, match="there is nothing newer"):
        upgrades.prepare(ann.caller, shop.id, Request())
    # And back, with the packages of then.
    back = history.restore(ann.caller, shop.id, 1)
    assert shop.deploy(back.id).state == "done"
    store = shop.plant("s")
    assert (store["?"]["type"], store["made"]) == ("test.Shop/1.0.0@test.shop", "one")


def test_what_is_edited_afterwards_is_compared_with_the_upgrade(shop: Garden, ann: Any) -> None:
    session, _ = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    shop.set(session.id, "s/port", 99)
    with pytest.raises(Invalid, match="port of s"):
        shop.deploy(session.id)
    history.discard(ann.caller, shop.id, session.id)
    session.refresh_from_db()
    assert (session.upgrade, session.lock, session.draft) == (None, None, None)


def test_one_object_alone(shop: Garden, ann: Any) -> None:
    import_packages(ann.caller, [packed(manifest=PARTS % "1.5.0", Classes__Bolt=BOLT)])
    session, report = upgrades.draft(ann.caller, shop.id, Request(to={"test.parts": "1.5.0"}, objects=["b"]))
    assert [(o["id"], o["new"]) for o in report["objects"]] == [("b", "1.5.0")]
    assert shop.deploy(session.id).state == "done"
    assert shop.plant("s")["bolt"]["?"]["type"] == "test.parts.Bolt/1.5.0@test.parts"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(to={"test.other": "1.0.0"}), "no object of environment 'garden' is of package 'test.other'"),
        (Request(to={"test.shop": "1.0.0"}), "test.shop has version 1.0.0 already"),
        (Request(to={"test.shop": "9.9.9"}), "9.9.9"),
        (Request(to={"test.shop": "two"}), "'two' is no version"),
        (Request(answers={"nobody": {"a": 1}}), "there is no object 'nobody'"),
        (Request(objects=["nobody"]), "there is no object 'nobody'"),
    ],
)
def test_what_there_is_not_is_refused(shop: Garden, ann: Any, request_: Request, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        upgrades.prepare(ann.caller, shop.id, request_)


def test_a_migration_that_fails_leaves_everything_as_it_was(shop: Garden, ann: Any) -> None:
    import_packages(ann.caller, [two("1 / 0", "2.2.0")])
    before = Session.objects.count()
    with pytest.raises(UpgradeRefused, match=r"migration test\.Store::portIsUp to 2\.0\.0 fails for object 's'"):
        upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.2.0"}))
    assert Session.objects.count() == before and shop.show()["status"] != "pending"


def test_an_upgrade_that_is_killed_leaves_everything_as_it_was(
    shop: Garden, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Session.objects.count()

    def dies(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    for name in ("store", "lock_for"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(upgrades.packages, name, dies)
            upgrades.draft(ann.caller, shop.id, ready())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(upgrades, "record", dies)  # the last thing in its transaction
        upgrades.draft(ann.caller, shop.id, ready())
    assert Session.objects.count() == before


def test_the_api_says_the_same(shop: Garden, ann: Any) -> None:
    path = f"/v2/environments/{shop.id}/upgrades"
    listed = ann.get(path).json()["items"]
    assert [(one["package"], one["used"], one["to"], one["bump"]) for one in listed][1] == (
        "test.shop", ["1.0.0"], "2.0.0", "breaking"
    )  # fmt: skip
    refused = ann.post(path, {"to": {"test.shop": "2.0.0"}})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (409, "SRV610")
    assert [one["property"] for one in error["details"]["report"]["asked"]] == ["mode"]
    given = {"to": {"test.shop": "2.0.0"}, "answers": {"web": {"mode": "fast"}}, "drops": ["web.motd"]}
    only = ann.post(path, {**given, "draft": False}).json()
    assert only["session"] is None and only["report"]["ready"]
    made = ann.post(path, given)
    assert made.status_code == 201 and made.json()["report"] == only["report"]
    drafted = Session.objects.get(id=made.json()["session"]["id"]).draft
    session, _ = upgrades.draft(ann.caller, shop.id, ready(to={"test.shop": "2.0.0"}))
    assert Session.objects.get(id=session.id).draft == drafted
    for wrong in ({"to": {"test.shop": 2}}, {"answers": []}, {"other": 1}, {"drops": [1]}):
        assert ann.post(path, wrong).status_code == 400


def test_components_say_that_there_is_something_newer(shop: Garden, ann: Any) -> None:
    page = signed_in(ann).get(f"/app/environments/{shop.id}/").content.decode()
    button = re.compile(r'<a class="btn btn-sm (btn-[a-z-]+)" data-newer="([0-9.]+)"[^>]*>.*?Upgrade to')
    assert button.findall(page) == [("btn-outline-primary", "2.0.0")]  # its number says that it breaks
    changes = "- {Version: 2.0.1, Changes: [{Kind: security, Text: a}]}\n- {Version: 1.0.0, Changes: []}\n"
    import_packages(ann.caller, [two(version="2.0.1", changes=changes)])
    page = signed_in(ann).get(f"/app/environments/{shop.id}/").content.decode()
    assert button.findall(page) == [("btn-danger", "2.0.1")]
    offer = next(one for one in newer_versions.offers(ann.caller, shop.id) if one.package == "test.shop")
    assert [one["version"] for one in offer.changes] == ["2.0.1"] and offer.security
