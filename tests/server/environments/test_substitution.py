"""A version that is gone is replaced by another one of its major, and its objects are migrated to that before."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.server.environments.conftest import Garden, exported
from tests.server.environments.test_upgrade_drafts import packed
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import import_packages
from vetro.server.environments import imports, plan, queries
from vetro.server.environments.errors import UpgradeRefused
from vetro.server.environments.models import EnvironmentPackage, Session

pytestmark = pytest.mark.django_db

MANIFEST = """\
Format: '1.4'
Type: Application
FullName: test.shelf
Version: {version}
Require: {{io.vetro: 1}}
Classes: {{test.shelf.Shelf: Shelf.yaml}}
"""
OLD = """\
Namespaces: {=: test.shelf, std: io.murano}
Name: Shelf
Extends: std:Application
Properties:
  books: {Contract: $.int().notNull()}
  color: {Contract: $.string()}
"""
NEW = """\
Namespaces: {=: test.shelf, std: io.murano, l: io.vetro.lifecycle}
Name: Shelf
Extends: std:Application
Properties:
  volumes: {Contract: $.int().notNull(), Meta: {l:Renamed: {from: books, to: 1.1.0}}}
  boards: {Contract: $.int().notNull()}
Methods:
  boardsOf:
    Usage: Static
    Meta: {l:Migration: {to: 1.2.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      - Return: $old.set(boards, MADE)
"""
SHELF = {"?": {"id": "s", "type": "test.shelf.Shelf/1.0.0@test.shelf"}, "books": 40, "color": "red"}


def archive(version: str, text: str) -> bytes:
    return packed(manifest=MANIFEST.format(version=version), Classes__Shelf=text)


def new(version: str = "1.2.0", made: str = "$old.volumes / 10") -> bytes:
    return archive(version, NEW.replace("MADE", made))


@pytest.fixture
def garden(planting: Any) -> Garden:
    made: Garden = planting()
    return made


def drafted(garden: Garden) -> str:
    session = garden.open()
    garden.put(session, SHELF)
    return session


def draft(session: str) -> Any:
    found = Session.objects.get(id=session).draft
    return found and found["Objects"]["applications"][0]


def test_a_draft_is_migrated_before_it_is_planned_and_deployed(garden: Garden, drain: Any) -> None:
    import_packages(garden.caller, [new()])
    session = drafted(garden)
    task = plan.plan(garden.caller, garden.id, session)
    drain()
    task.refresh_from_db()
    assert task.state == "done", task.error
    (shelf,) = [one for one in task.result["objects"] if one["id"] == "s"]
    values = {one["name"]: one["new"] for one in shelf["properties"]}
    assert (values["volumes"], values["boards"]) == (40, 4) and "books" not in values
    assert ["no property 'color'" in text for text in task.result["unused"]] == [True]
    assert draft(session) == SHELF, "a plan changes no draft"
    assert garden.deploy(session).state == "done"
    shelf = garden.plant("s")
    assert (shelf["volumes"], shelf["boards"]) == (40, 4)
    assert shelf["?"]["type"] == "test.shelf.Shelf/1.2.0@test.shelf"


def test_what_is_deployed_goes_on_with_the_version_that_is_there(garden: Garden) -> None:
    """Also fixed properties: what is deployed is compared as it would be now."""
    const = OLD.replace("books: {Contract: $.int().notNull()}", "books: {Contract: $.int().notNull(), Usage: Const}")
    import_packages(garden.caller, [archive("1.0.0", const)])
    assert garden.deploy(drafted(garden)).state == "done"
    newer = NEW.replace("volumes: {", "volumes: {Usage: Const, ").replace("MADE", "$old.volumes / 10")
    import_packages(garden.caller, [archive("1.2.0", newer)])
    session = garden.open()
    garden.set(session, "s/color", "blue")
    assert garden.deploy(session).state == "done"
    assert garden.plant("s")["books"] == 40, "its own archive is kept"
    Package.objects.get(fqn="test.shelf", version="1.0.0").delete()
    there = Package.objects.get(fqn="test.shelf")
    EnvironmentPackage.objects.filter(environment_id=garden.id).update(version=there.version, digest=there.digest)
    assert garden.deploy(garden.open()).state == "done"
    assert (garden.plant("s")["volumes"], garden.plant("s")["boards"]) == (40, 4)


def test_nothing_is_done_where_the_version_is_there_or_no_step_is_due(garden: Garden) -> None:
    import_packages(garden.caller, [archive("1.0.0", OLD), new()])
    session = drafted(garden)
    assert garden.deploy(session).state == "done" and garden.plant("s")["books"] == 40
    other = garden.open()
    assert garden.deploy(other).state == "done" and Session.objects.get(id=other).upgrade is None


def test_a_substitute_without_steps_is_left_to_loading(garden: Garden) -> None:
    import_packages(garden.caller, [archive("1.0.7", OLD)])
    session = drafted(garden)
    assert garden.deploy(session).state == "done"
    assert Session.objects.get(id=session).upgrade is None
    assert garden.plant("s")["?"]["type"] == "test.shelf.Shelf/1.0.7@test.shelf"


def test_a_migration_that_fails_stops_the_deployment_and_leaves_the_draft(garden: Garden) -> None:
    import_packages(garden.caller, [new(made="$old.volumes / 0")])
    session = drafted(garden)
    for refused in (garden.deploy, lambda id: plan.plan(garden.caller, garden.id, id)):
        with pytest.raises(UpgradeRefused, match="boardsOf"):
            refused(session)
    assert draft(session) == SHELF and Session.objects.get(id=session).state == Session.OPENED
    import_packages(garden.caller, [new("1.3.0")])
    assert garden.deploy(session).state == "done" and garden.plant("s")["boards"] == 4


def test_an_import_migrates(garden: Garden, eve: Any) -> None:
    """Of an archive that has no packages, in a project that has a newer version."""
    import_packages(garden.caller, [archive("1.0.0", OLD)])
    assert garden.deploy(drafted(garden)).state == "done"
    source, target = zipfile.ZipFile(io.BytesIO(exported(garden.caller, garden.id))), io.BytesIO()
    with zipfile.ZipFile(target, "w") as bare:
        for name in source.namelist():
            if name == "environment.json":
                head = json.loads(source.read(name))
                bare.writestr(name, json.dumps({**head, "packages": [], "locks": {}}))
            elif not name.startswith(("packages/", "locks/")):
                bare.writestr(name, source.read(name))
    import_packages(eve.caller, [new()])
    made = imports.import_environment(eve.caller, target.getvalue(), name="other", fresh=True)
    assert [text for text in made["notes"] if "migrated to those that are" in text]
    shelf = draft(str(made["session_id"]))
    assert (shelf["volumes"], shelf["boards"]) == (40, 4)
    found = queries.get(eve.caller, str(made["environment_id"]), model=True)
    other = Garden(eve.caller, found.id, garden.drain)
    assert other.deploy(str(made["session_id"])).state == "done"
