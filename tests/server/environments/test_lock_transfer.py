"""Locks travel with exports: the same archives there as here, whatever the other catalog has."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest

from tests.server.environments.conftest import Garden, exported, garden_package, new_garden
from tests.server.environments.test_packages import lib, told, with_newer_library
from tests.server.layers import People, layer
from vetro.packages.lock import Lock, LockedPackage
from vetro.server.catalog.service import import_packages
from vetro.server.environments import history, imports, packages
from vetro.server.errors import Invalid
from vetro.server.tasks.worker import run_queued


@layer(garden_package)
def shop(people: People) -> Any:
    return with_newer_library(new_garden(people("ann").caller, run_queued))


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_what_is_imported_elsewhere_has_the_same_locks_and_archives(shop: Any, eve: Any) -> None:
    data = exported(shop.caller, shop.id)
    assert exported(shop.caller, shop.id) == data  # equal content, equal bytes
    import_packages(eve.caller, [lib("1.9.0")])  # newer, and it would fit
    made = imports.import_environment(eve.caller, data)
    there = Garden(eve.caller, str(made["environment_id"]), shop.drain)
    for number in (1, 2):
        mine, theirs = packages.lock_of(shop.id, number), packages.lock_of(there.id, number)
        assert mine is not None and theirs is not None and mine.text() == theirs.text()
    here, elsewhere = parts(data), parts(exported(eve.caller, there.id))
    kept = {name for name in here if name.startswith(("locks/", "packages/"))}
    assert len(kept) == 5 and {name: here[name] for name in kept} == {name: elsewhere[name] for name in kept}
    # The state before is deployed with what it had, which eve's catalog never got.
    there.deploy(history.restore(eve.caller, there.id, 1).id)
    assert told(there) == {"o": "1.0.0"}


def test_a_fresh_copy_is_deployed_with_the_lock(shop: Any, eve: Any) -> None:
    import_packages(eve.caller, [lib("1.9.0")])
    made = imports.import_environment(eve.caller, exported(shop.caller, shop.id), fresh=True)
    there = Garden(eve.caller, str(made["environment_id"]), shop.drain)
    assert there.deploy(str(made["session_id"])).state == "done"
    assert told(there) == {"o": "1.5.0"}
    mine, theirs = packages.lock_of(shop.id), packages.lock_of(there.id)
    assert mine is not None and theirs is not None and mine.text() == theirs.text()


def test_a_digest_gives_nobody_the_archive_of_another(shop: Any, eve: Any) -> None:
    """Whoever writes the digest of somebody's package into a lock has to have the package."""
    files = parts(exported(shop.caller, shop.id))
    older = packages.lock_of(shop.id, 1)
    assert older is not None
    (base,) = (package for package in older.packages if package.name == "test.lib")
    del files[f"packages/{base.digest}.zip"]
    made = imports.import_environment(eve.caller, packed(files))
    assert any("the lock of state 1 was left out: there is no test.lib/1.0.0" in str(note) for note in made["notes"])
    id = str(made["environment_id"])
    assert packages.lock_of(id, 1) is None and packages.lock_of(id, 2) is not None
    assert f"packages/{base.digest}.zip" not in parts(exported(eve.caller, id))


def test_an_archive_counts_for_what_it_is(shop: Any, eve: Any) -> None:
    """A lock may call an archive what it likes, and bring what is none."""
    files = parts(exported(shop.caller, shop.id))
    head, junk = json.loads(files["environment.json"]), b"PK junk"
    older = packages.lock_of(shop.id, 1)
    assert older is not None
    (base,) = (package for package in older.packages if package.name == "test.lib")
    for digest, version in ((base.digest, "7.7.7"), (hashlib.sha256(junk).hexdigest(), "1.0.0")):
        forged = Lock.made([LockedPackage("test.lib", version, digest), *older.packages])
        locks = {**head["locks"], "1": forged.digest(), "2": forged.digest()}
        data = packed(
            {
                **files,
                f"packages/{digest}.zip": files.get(f"packages/{digest}.zip", junk),
                f"locks/{forged.digest()}.json": forged.text().encode(),
                "environment.json": json.dumps({**head, "locks": locks}).encode(),
            }
        )
        made = imports.import_environment(eve.caller, data, name=version)
        notes = [str(note) for note in made["notes"]]
        assert sum(f"was left out: there is no test.lib/{version}" in note for note in notes) == 2
        there = Garden(eve.caller, str(made["environment_id"]), shop.drain)
        assert packages.lock_of(there.id, 1) is None
        assert {(p.name, p.version) for p in packages.pinned(there.id)} == {
            ("test.Old", "1.0.0"),
            ("test.lib", "1.5.0"),
        }
        assert there.deploy(there.open()).state == "done"


def test_what_stands_beside_objects_is_as_a_deployment_leaves_it(shop: Any, eve: Any) -> None:
    """Else whatever reads it later would fail: an upgrade, going back to a state, the next deployment."""
    files = parts(exported(shop.caller, shop.id))
    model = json.loads(files["model-2.json"])
    for change in ({"SystemData": "x"}, {"SystemData": {"Packages": ["x"]}}, {"Attributes": {"o": 1}}):
        forged = {**files, "model-2.json": json.dumps({**model, **change}).encode()}
        with pytest.raises(Invalid, match=f"'{next(iter(change))}' is not as a deployment leaves it"):
            imports.import_environment(eve.caller, packed(forged))
    for left in ({"SystemData": None, "Attributes": None}, {"SystemData": {}}):
        bare = {**files, "model-2.json": json.dumps({**model, **left}).encode()}
        made = imports.import_environment(eve.caller, packed(bare), name=f"bare {len(left)}")
        there = Garden(eve.caller, str(made["environment_id"]), shop.drain)
        assert there.deploy(history.restore(eve.caller, there.id, 2).id).state == "done"


def test_changed_locks_and_archives_are_refused(shop: Any, eve: Any) -> None:
    files = parts(exported(shop.caller, shop.id))
    head = json.loads(files["environment.json"])
    digest = head["locks"]["2"]
    other = Lock.made([LockedPackage("x", "1", "1" * 64)]).text().encode()
    with pytest.raises(Invalid, match=r"has lock .* changed"):
        imports.import_environment(eve.caller, packed({**files, f"locks/{digest}.json": other}))
    with pytest.raises(Invalid, match="is not as a lock has it"):
        bad = json.dumps({**json.loads(files[f"locks/{digest}.json"]), "packages": [5]}).encode()
        imports.import_environment(eve.caller, packed({**files, f"locks/{digest}.json": bad}))
    with pytest.raises(Invalid, match="changed"):
        older = packages.lock_of(shop.id, 1)
        assert older is not None
        name = next(f"packages/{package.digest}.zip" for package in older.packages if package.name == "test.lib")
        imports.import_environment(eve.caller, packed({**files, name: b"PK other"}))
    for wrong in ("../../etc/passwd", 5):
        changed = json.dumps({**head, "locks": {"2": wrong}}).encode()
        with pytest.raises(Invalid, match="the archive has no locks/"):
            imports.import_environment(eve.caller, packed({**files, "environment.json": changed}))


def test_archives_of_earlier_versions_have_no_locks(shop: Any, eve: Any) -> None:
    files = {name: data for name, data in parts(exported(shop.caller, shop.id)).items() if "locks/" not in name}
    head = json.loads(files["environment.json"])
    del head["locks"]
    made = imports.import_environment(eve.caller, packed({**files, "environment.json": json.dumps(head).encode()}))
    lock = packages.lock_of(str(made["environment_id"]))
    assert lock is not None and lock.versions() == {"test.Old": ["1.0.0"], "test.lib": ["1.5.0"]}
    assert (lock.resolution, packages.lock_of(str(made["environment_id"]), 1)) == ((), None)
