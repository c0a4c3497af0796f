"""Which packages an environment uses, and its locks."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from tests.server.environments.conftest import archive, garden_package, new_garden, plant
from tests.server.layers import People, layer
from vetro.engine.version import engine_version
from vetro.packages.lock import ChosenVersion, Lock, LockedPackage
from vetro.server.catalog import blobs, garbage
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import delete, import_packages
from vetro.server.environments import deploy as deploying
from vetro.server.environments import history, packages
from vetro.server.environments.errors import LockIncomplete
from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
from vetro.server.environments.models import Lock as LockRow
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.tasks.worker import run_queued

#: Two versions of a library side by side, each required by one application.
LIB = "Format: MuranoPL/1.3\nType: Library\nFullName: test.lib\nVersion: {v}\nClasses: {{test.lib.It: It.yaml}}\n"
IT = "Name: It\nNamespaces: {{=: test.lib}}\nMethods:\n  tell: {{Body: [{{Return: '{v}'}}]}}\n"
APP = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.{name}
Version: {v}
Require: {{test.lib: '{spec}'}}
Classes: {{test.{name}: Main.yaml}}
"""
MAIN = """\
Name: {name}
Namespaces: {{=: test, lib: test.lib, std: io.murano}}
Extends: std:Application
Properties:
  name: {{Contract: $.string()}}
  told: {{Contract: $.string(), Usage: Out}}
Methods:
  deploy:
    Body:
      - $it: new(lib:It)
      - $.told: $it.tell()
"""


def packed(**files: str) -> bytes:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, text in files.items():
            target.writestr(zipfile.ZipInfo(name.replace("__", "/").replace("_yaml", ".yaml")), text)
    return buffer.getvalue()


def lib(version: str, told: str | None = None) -> bytes:
    return packed(manifest_yaml=LIB.format(v=version), Classes__It_yaml=IT.format(v=told or version))


def app(name: str, spec: str, version: str = "1.0.0") -> bytes:
    manifest = APP.format(name=name, spec=spec, v=version)
    return packed(manifest_yaml=manifest, Classes__Main_yaml=MAIN.format(name=name))


def thing(kind: str, id: str) -> dict[str, Any]:
    return {"?": {"id": id, "type": f"test.{kind}"}, "name": id}


def told(garden: Any) -> dict[str, Any]:
    return {service["name"]: service["told"] for service in garden.show()["services"]}


def test_only_versions_that_the_model_came_from_are_kept(planting: Any) -> None:
    garden = planting()
    row = Environment.objects.get(id=garden.id)
    used = [
        {"fqn": "a", "version": "1.0.0", "digest": "1" * 64},
        {"fqn": "a", "version": "2.0.0", "digest": "2" * 64},
        {"fqn": "b", "version": "1.0.0", "digest": "3" * 64},
    ]
    task = Task(spec={"packages": used})
    packages.keep(row, task, {"SystemData": {"Packages": {"a": ["2.0.0"]}}})
    assert packages.pinned(garden.id) == [LockedPackage("a", "2.0.0", "2" * 64)]
    packages.keep(row, task, {})
    assert EnvironmentPackage.objects.filter(environment_id=garden.id).count() == 3


def test_which_packages_are_used_is_believed_of_those_that_the_catalog_lacks(planting: Any) -> None:
    """Packages of folders on this machine are in no catalog; their checks are looked at all the same."""
    garden = planting(plant())
    assert not packages.uses(garden.id, "io.vetro")
    row = Environment.objects.get(id=garden.id)
    packages.keep(row, Task(spec={"packages": [{"fqn": "x", "version": "1.0.0", "digest": "9" * 64}]}), {})
    assert packages.uses(garden.id, "io.vetro")


def test_a_deployment_leaves_its_lock(planting: Any) -> None:
    garden = planting(plant())
    package = Package.objects.get(fqn="test.garden")
    lock = packages.lock_of(garden.id)
    assert lock is not None
    assert lock.packages == (LockedPackage("test.garden", "1.0.0", package.digest),)
    assert (lock.packages[0].source, lock.engine) == ("project", engine_version())
    assert ChosenVersion("", "test.Plant", "1.0.0", "test.garden/1.0.0") in lock.resolution
    assert ChosenVersion("test.garden/1.0.0", "io.murano", "0", "io.murano/0.0.0") in lock.resolution
    assert "io.murano/0.0.0" in lock.library
    # As long as nothing changes it stays the same, to the byte.
    garden.deploy(garden.open())
    assert packages.lock_of(garden.id) == lock and packages.lock_of(garden.id, 0) is None
    assert State.objects.filter(lock_id=lock.digest()).count() == 2


def test_two_versions_of_a_package_are_both_in_the_lock(planting: Any) -> None:
    garden = planting()
    import_packages(garden.caller, [lib("1.0.0"), lib("2.0.0"), app("Old", "1"), app("New", "2")])
    session = garden.open()
    garden.put(session, thing("Old", "o"), thing("New", "n"))
    assert garden.deploy(session).state == "done"
    assert told(garden) == {"o": "1.0.0", "n": "2.0.0"}
    lock = packages.lock_of(garden.id)
    assert lock is not None and lock.versions()["test.lib"] == ["1.0.0", "2.0.0"]
    # Newer ones come, and nothing of it moves.
    import_packages(garden.caller, [lib("1.5.0"), lib("2.5.0")])
    garden.deploy(garden.open())
    assert told(garden) == {"o": "1.0.0", "n": "2.0.0"} and packages.lock_of(garden.id) == lock


def with_newer_library(garden: Any) -> Any:
    """An environment whose application is deployed with library 1.0.0, and then with 1.5.0."""
    import_packages(garden.caller, [lib("1.0.0"), app("Old", "1")])
    session = garden.open()
    garden.put(session, thing("Old", "o"))
    garden.deploy(session)
    import_packages(garden.caller, [lib("1.5.0")])
    EnvironmentPackage.objects.filter(environment_id=garden.id, fqn="test.lib").delete()
    garden.deploy(garden.open())
    assert told(garden) == {"o": "1.5.0"}
    return garden


@layer(garden_package)
def upgraded(people: People) -> Any:
    return with_newer_library(new_garden(people("ann").caller, run_queued))


def test_a_restored_state_runs_with_the_packages_it_had(upgraded: Any) -> None:
    first = packages.lock_of(upgraded.id, 1)
    session = history.restore(upgraded.caller, upgraded.id, 1)
    assert upgraded.deploy(session.id).state == "done"
    # 1.5.0 fits as well, is in the catalog, and was in use until now.
    assert told(upgraded) == {"o": "1.0.0"}
    assert packages.lock_of(upgraded.id) == first


def test_a_restored_state_runs_with_what_was_deleted_or_changed_since(upgraded: Any) -> None:
    delete(upgraded.caller, Package.objects.get(fqn="test.lib", version="1.0.0"), force=True)
    garbage.collect(grace=0.0)
    session = history.restore(upgraded.caller, upgraded.id, 1)
    upgraded.deploy(session.id)
    assert told(upgraded) == {"o": "1.0.0"}


def test_a_lock_whose_archive_is_gone_says_which(upgraded: Any) -> None:
    session = history.restore(upgraded.caller, upgraded.id, 1)
    digest = Package.objects.get(fqn="test.lib", version="1.0.0").digest
    blobs.store().remove(digest)
    with pytest.raises(LockIncomplete, match=rf"test.lib/1.0.0 \(SHA-256 {digest[:12]}") as caught:
        history.restore(upgraded.caller, upgraded.id, 1)
    assert caught.value.details == {"missing": [{"name": "test.lib", "version": "1.0.0", "digest": digest}]}
    # A draft from before is refused, too, and nothing was done.
    with pytest.raises(LockIncomplete):
        deploying.deploy(upgraded.caller, upgraded.id, session.id)
    assert Session.objects.get(id=session.id).state == Session.OPENED
    assert told(upgraded) == {"o": "1.5.0"}


def test_what_nobody_has_any_more_is_dropped(upgraded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = set(State.objects.exclude(lock=None).values_list("lock_id", flat=True))
    assert len(locks) == 2 and {p.version for p in packages.archives() if p.name == "test.lib"} == {"1.0.0", "1.5.0"}
    unused = Lock.made([LockedPackage("x", "1", "5" * 64)])
    packages.store(unused)
    assert packages.drop_unused() == 0  # somebody may be about to use it
    LockRow.objects.update(used=clock.read() - timedelta(days=2))
    assert packages.drop_unused() == 1
    assert set(LockRow.objects.values_list("digest", flat=True)) == locks
    for _ in range(2):  # made anew, and used again
        row = packages.store(unused)
        row.refresh_from_db()
        assert row.used > clock.read() - timedelta(minutes=5)
        LockRow.objects.update(used=clock.read() - timedelta(days=2))
    packages.store(unused)
    assert packages.drop_unused() == 0


def test_an_administrator_deploys_with_the_packages_of_the_project(planting: Any, root: Any) -> None:
    garden = planting()
    session = garden.open()
    garden.put(session, plant())
    task = deploying.deploy(root.caller, garden.id, session)
    garden.drain()
    task.refresh_from_db()
    assert (task.state, task.project_id) == ("done", garden.caller.project_id)


def test_only_packages_that_the_project_sees_are_marked(planting: Any, eve: Any) -> None:
    garden = planting()
    import_packages(eve.caller, [archive()])
    session = garden.open()
    garden.put(session, plant())
    garden.deploy(session)
    marked = Package.objects.filter(fqn="test.garden").values_list("project_id", "deployed")
    assert dict(marked) == {garden.caller.project_id: True, eve.caller.project_id: False}


def test_environments_of_earlier_versions_get_a_lock_of_what_they_use(planting: Any) -> None:
    garden, bare = planting(plant()), planting(name="bare")
    garden.deploy(garden.open())
    before = packages.lock_of(garden.id)
    State.objects.update(lock=None)
    LockRow.objects.all().delete()
    import_module("vetro.server.environments.migrations.0007_lock").fill(apps, SimpleNamespace(connection=connection))
    lock = packages.lock_of(garden.id)
    assert lock is not None and before is not None and lock.packages == before.packages
    assert (lock.engine, lock.resolution) == ("", ())  # nobody wrote that down
    row = State.objects.get(environment_id=garden.id, number=2).lock
    assert row is not None and (row.digest, row.body) == (lock.digest(), lock.text())
    assert packages.lock_of(garden.id, 1) is None and packages.lock_of(bare.id) is None
    # The next deployment knows.
    garden.deploy(garden.open())
    assert packages.lock_of(garden.id) == before
