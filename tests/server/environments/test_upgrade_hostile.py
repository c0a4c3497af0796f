"""Upgrades under attack: packages that make too much, answers that change what is fixed, tasks that break off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import Garden
from tests.server.environments.test_upgrade_drafts import MANIFEST, STORE, TILL, packed, ready, shop
from vetro.model.tree import by_id
from vetro.packages.lock import LockedPackage
from vetro.server.catalog import blobs
from vetro.server.catalog.service import import_packages
from vetro.server.environments import deploy as deploying
from vetro.server.environments import packages, upgrades
from vetro.server.environments.errors import SessionInvalid, UpgradeRefused
from vetro.server.environments.models import Session, State
from vetro.server.environments.upgrades import Request
from vetro.server.errors import Invalid
from vetro.server.quotas.usage import used
from vetro.server.tasks.queue import cancel

pytestmark = pytest.mark.django_db

__all__ = ["shop"]


def hostile(body: str) -> bytes:
    """A release of the shop with another migration."""
    text = STORE % "0"
    assert "- Return: $old.set(port, 0)" in text
    text = text.replace("- Return: $old.set(port, 0)", body)
    manifest = MANIFEST.format(version="2.3.0", name="Store", parts="2")
    return packed(manifest=manifest, Classes__Shop=text, Classes__Till=TILL)


def newest(garden: Garden) -> State:
    return State.objects.filter(environment_id=garden.id).order_by("-number")[0]


def remember(garden: Garden, *rows: Any) -> None:
    row = newest(garden)
    row.model = {**row.model, "Attributes": list(rows)}
    row.save()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("- Return: $old.set(motd, range(0, 21).aggregate($1 + $1, abcdefghij))", "characters, 16,777,216 at most"),
        ("- Return: $old.set(motd, range(0, 300).aggregate([$1], []))", "nested deeper than 200 levels"),
        ("- Return: $old.set(till, {'?' => {type => 'test.shop.Till', id => '%s'}})" % ("x" * 256), "255 characters"),
        ("- Return: $old.set(till, {'?' => {type => 'test.shop.Till', id => s}})", "made of one object several: s"),
        ("- Return: $old.set(till, {'?' => {type => 'a/b/c@d@e'}})", "'b/c' is malformed"),
    ],
)
def test_what_a_migration_makes_has_the_bounds_of_every_model(shop: Garden, ann: Any, body: str, message: str) -> None:
    import_packages(ann.caller, [hostile(body)])
    for call in (upgrades.prepare, upgrades.draft):
        with pytest.raises((Invalid, UpgradeRefused), match=message):
            call(ann.caller, shop.id, ready(to={"test.shop": "2.3.0"}))
    assert not Session.objects.filter(environment_id=shop.id, state="opened").exists()


def test_a_migration_without_end_ends(shop: Garden, ann: Any) -> None:
    import_packages(ann.caller, [hostile("- While: 1 > 0\n        Do: [{$x: 1}]\n      - Return: $old")])
    with pytest.raises(UpgradeRefused, match="steps"):
        upgrades.prepare(ann.caller, shop.id, ready(to={"test.shop": "2.3.0"}))


def test_what_is_kept_with_the_draft_counts(shop: Garden, ann: Any) -> None:
    before = used(ann.caller.project_id, "states")
    session, _ = upgrades.draft(ann.caller, shop.id, ready())
    size = Session.objects.extra(select={"size": "length(upgrade)"}).values_list("size", flat=True).get(id=session.id)
    assert size > 1000 and used(ann.caller.project_id, "states") - before > size


def test_an_answer_changes_nothing_that_is_fixed(shop: Garden, ann: Any) -> None:
    """``port`` is ``Const``, and has a value: what the migration made of it."""
    request = Request(answers={"web": {"mode": "fast", "port": 1}}, drops=[("web", "motd")])
    session, _ = upgrades.draft(ann.caller, shop.id, request)
    with pytest.raises(Invalid, match="port of s"):
        shop.deploy(session.id)


def test_a_repair_leaves_upgrades_behind(shop: Garden, ann: Any) -> None:
    """What the repair remembers is not in the draft: deploying it would forget that."""
    session, _ = upgrades.draft(ann.caller, shop.id, ready())
    ordinary = shop.open()
    shop.set(ordinary, "s/motd", "hi")
    deploying.repair(ann.caller, shop.id)
    shop.drain()
    remember(shop, ["s", "test.Shop", "stack", "made by the repair"])
    with pytest.raises(SessionInvalid):
        shop.deploy(session.id)
    session, _ = upgrades.draft(ann.caller, shop.id, ready())
    session.refresh_from_db()
    assert session.upgrade and ["s", "test.Store", "stack", "made by the repair"] in session.upgrade["attributes"]
    assert shop.deploy(ordinary).state == "done"


def test_an_upgrade_that_never_began_is_done_again_as_one(shop: Garden, ann: Any) -> None:
    remember(shop, ["s", "test.Shop", "stack", "one"])
    session, _ = upgrades.draft(ann.caller, shop.id, ready())
    task = deploying.deploy(ann.caller, shop.id, session.id)
    cancel(ann.caller, task.id)
    task.refresh_from_db()
    assert task.state == "cancelled"
    again = deploying.again(ann.caller, task)  # the port is Const and another one: only as an upgrade it may be
    shop.drain()
    again.refresh_from_db()
    assert again.state == "done", again.error
    model = newest(shop).model
    assert by_id(model["Objects"])["s"]["port"] == 1080
    assert ["s", "test.Store", "stack", "one"] in model["Attributes"]


def test_what_an_upgrade_is_to_remove_finds_what_it_remembers(shop: Garden, ann: Any) -> None:
    """Somebody takes the application out of the draft: it is destroyed by the code that made it, under its old name."""
    remember(shop, ["s", "test.Shop", "stack", "one"])
    session, _ = upgrades.draft(ann.caller, shop.id, ready())
    shop.put(session.id)
    task = deploying.deploy(ann.caller, shop.id, session.id)
    model = task.spec["model"]
    assert by_id(model["ObjectsCopy"])["s"]["?"]["type"] == "test.Shop/1.0.0@test.shop"
    assert ["s", "test.Shop", "stack", "one"] in model["Attributes"]


def test_headers_that_name_no_version_keep_nothing_from_being_shown(shop: Garden, ann: Any) -> None:
    row = newest(shop)
    model = row.model
    by_id(model["Objects"])["t"]["?"]["type"] = "test.shop.Till/>=1@test.shop"
    row.model = model
    row.save()
    offered = ann.get(f"/v2/environments/{shop.id}/upgrades")
    assert offered.status_code == 200
    assert [one["used"] for one in offered.json()["items"]] == [["1.0.0"], ["1.0.0"]]


def test_versions_may_be_written_short(shop: Garden, ann: Any) -> None:
    report = upgrades.prepare(ann.caller, shop.id, ready(to={"test.shop": "2"})).report
    assert report["ready"] and report["target"]["test.shop"] == "2.0.0"


def test_a_library_may_come_along_that_no_catalog_has(planting: Any, ann: Any) -> None:
    """As ``vetro upgrade --to ./app --to ./library`` gives them: it is only required."""
    lib = "Format: '1.4'\nType: Library\nFullName: test.words\nVersion: {}\nClasses: {{test.Words: Words.yaml}}\n"
    app = (
        "Format: '1.4'\nType: Application\nFullName: test.door\nVersion: {0}.0.0\nRequire: {{test.words: '{0}'}}\n"
        "Classes: {{test.Door: Door.yaml}}\n"
    )
    door = "Namespaces: {=: test, std: io.murano}\nName: Door\nExtends: std:Application\n"
    words = "Namespaces: {=: test}\nName: Words\n"

    def release(number: int) -> tuple[bytes, bytes]:
        version = f"{number}.0.0"
        library = packed(manifest=lib.format(version), Classes__Words=words)
        return library, packed(manifest=app.format(number), Classes__Door=door)

    import_packages(ann.caller, release(1))
    garden: Garden = planting()
    session = garden.open()
    garden.put(session, {"?": {"id": "d", "type": "test.Door"}, "name": "front"})
    assert garden.deploy(session).state == "done"
    names, archives = ("test.words", "test.door"), release(2)
    beside = [LockedPackage(name, "2.0.0", blobs.put(data)) for name, data in zip(names, archives, strict=True)]
    with pytest.raises(Invalid, match=r"no object of environment 'garden' is of package 'test\.words'"):
        upgrades.draft(ann.caller, garden.id, Request(to={"test.words": "2.0.0"}, beside=beside))
    made, _ = upgrades.draft(ann.caller, garden.id, Request(to=dict.fromkeys(names, "2.0.0"), beside=beside))
    assert garden.deploy(made.id).state == "done"
    assert {(p.name, p.version) for p in packages.pinned(garden.id)} >= {(name, "2.0.0") for name in names}
