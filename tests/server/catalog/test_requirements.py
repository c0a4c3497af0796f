"""What is required stays: deleting, disabling and withdrawing are refused with the dependants named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.server.catalog import blobs, imports, requirements, service
from vetro.server.catalog.classes import implementations
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.catalog.requirements import RequirementMissing, StillRequired


def lib(version: str) -> bytes:
    return archive("com.example.Lib", version)


@pytest.fixture
def pair(ann: Any) -> Package:
    """A library that somebody requires."""
    user = archive("com.example.User", Require={"com.example.Lib": "1"})
    return import_packages(ann.caller, [lib("1.0.0"), user]).packages[0]


def test_the_last_match_stays(ann: Any, pair: Package) -> None:
    with pytest.raises(StillRequired, match=r"required by com\.example\.User 0\.0\.0") as caught:
        service.delete(ann.caller, pair)
    assert caught.value.details["dependants"][0]["fqn"] == "com.example.User"
    with pytest.raises(StillRequired):
        service.change(ann.caller, pair, enabled=False)
    assert Package.objects.get(id=pair.id).enabled
    service.change(ann.caller, pair, enabled=False, force=True)
    service.delete(ann.caller, Package.objects.get(id=pair.id), force=True)


def test_another_fitting_version_frees_it(ann: Any, pair: Package) -> None:
    import_packages(ann.caller, [lib("2.0.0")])
    with pytest.raises(StillRequired):
        service.delete(ann.caller, pair)
    import_packages(ann.caller, [lib("1.7.0")])
    service.delete(ann.caller, pair)


def test_a_package_that_requires_itself_is_free_to_go(ann: Any) -> None:
    own = archive("com.example.Own", "1.2.0", Require={"com.example.Own": "1"})
    package = import_packages(ann.caller, [own]).packages[0]
    service.change(ann.caller, package, enabled=False)
    service.change(ann.caller, Package.objects.get(id=package.id), enabled=True)
    service.delete(ann.caller, Package.objects.get(id=package.id))
    assert not Package.objects.filter(id=package.id).exists()


def test_others_are_not_named(ann: Any, eve: Any, root: Any) -> None:
    package = import_packages(root.caller, [lib("1.0.0")], is_public=True).packages[0]
    import_packages(eve.caller, [archive("com.secret.User", Require={"com.example.Lib": "1"})])
    moved = Package.objects.get(id=package.id)
    Package.objects.filter(id=package.id).update(project_id=ann.caller.project_id)
    moved.refresh_from_db()
    with pytest.raises(StillRequired) as caught:
        service.delete(ann.caller, moved)
    assert "secret" not in str(caught.value.message) + str(caught.value.details)
    assert "packages of other projects" in caught.value.message


def test_withdrawing_asks_for_other_projects_only(ann: Any, eve: Any, root: Any) -> None:
    package = import_packages(root.caller, [lib("1.0.0")], is_public=True).packages[0]
    import_packages(root.caller, [archive("com.example.Own", Require={"com.example.Lib": "1"})])
    package = service.change(root.caller, package, is_public=False)
    package = service.change(root.caller, package, is_public=True)
    import_packages(eve.caller, [archive("com.example.User", Require={"com.example.Lib": "1"})])
    with pytest.raises(StillRequired):
        service.change(root.caller, package, is_public=False)


def test_a_private_copy_of_another_project_helps_only_there(ann: Any, eve: Any, root: Any) -> None:
    package = import_packages(root.caller, [lib("1.0.0")], is_public=True).packages[0]
    import_packages(ann.caller, [archive("com.example.User", Require={"com.example.Lib": "1"})])
    import_packages(eve.caller, [lib("1.0.0")])
    with pytest.raises(StillRequired):
        service.delete(root.caller, package)
    import_packages(ann.caller, [lib("1.0.0")])
    service.delete(root.caller, package)


def test_enabling_asks_for_what_it_requires_again(ann: Any, pair: Package) -> None:
    user = Package.objects.get(fqn="com.example.User")
    service.change(ann.caller, user, enabled=False)
    service.delete(ann.caller, pair)
    import_packages(ann.caller, [lib("2.0.0")])
    with pytest.raises(RequirementMissing, match=r"User 0\.0\.0 requires com\.example\.Lib 1; there is 2") as caught:
        service.change(ann.caller, user, enabled=True)
    assert caught.value.status == 400 and caught.value.details["missing"][0]["versions"] == ["2.0.0"]
    assert not Package.objects.get(id=user.id).enabled
    renamed = service.change(ann.caller, user, name="Other")  # by one who read it while it was enabled
    assert (renamed.name, renamed.enabled) == ("Other", False)
    assert service.change(ann.caller, user, enabled=True, force=True).enabled
    assert service.change(ann.caller, user, name="Again").enabled  # it was enabled already: nothing is asked
    service.change(ann.caller, user, enabled=False)
    import_packages(ann.caller, [lib("1.2.0")])
    assert service.change(ann.caller, user, enabled=True).usable


def test_a_disabled_package_that_is_enabled_mends_itself_and_others(ann: Any) -> None:
    user = archive("com.example.User", Require={"com.example.Lib": "1"})
    waiting = import_packages(ann.caller, [user], allow_missing=True).packages[0]
    asleep = service.change(ann.caller, waiting, enabled=False)
    assert not asleep.usable
    library = import_packages(ann.caller, [lib("1.0.0")], enabled=False).packages[0]
    with pytest.raises(RequirementMissing, match="there is none"):
        service.change(ann.caller, waiting, enabled=True)
    service.change(ann.caller, waiting, enabled=True, force=True)
    assert not Package.objects.get(id=waiting.id).usable
    service.change(ann.caller, library, enabled=True)
    assert Package.objects.get(id=waiting.id).usable


def test_chains_and_circles_wait_for_their_last_part(ann: Any, eve: Any) -> None:
    def of(name: str, needs: str, extends: str = "std:Application") -> bytes:
        return archive(f"com.example.{name}", Require={f"com.example.{needs}": None}, extends=extends)

    def usable() -> str:
        return "".join(sorted(p.fqn[-1] for p in Package.objects.filter(usable=True, project_id=ann.caller.project_id)))

    import_packages(eve.caller, [of("Q", "A")], allow_missing=True)
    for data in (of("A", "B"), of("B", "C"), of("X", "Y"), of("Z", "nowhere")):
        assert import_packages(ann.caller, [data], allow_missing=True).missing
    assert usable() == ""
    assert not import_packages(ann.caller, [of("Y", "X")], allow_missing=True).missing
    assert usable() == "XY"
    import_packages(ann.caller, [archive("com.example.C")])
    assert usable() == "ABCXY"
    assert not Package.objects.get(fqn="com.example.Q").usable


def test_what_arrives_late_is_inherited(ann: Any) -> None:
    child = archive("com.example.Child", extends="com.example.Lib", Require={"com.example.Lib": 1})
    row = import_packages(ann.caller, [child], allow_missing=True).packages[0]
    assert not row.usable
    import_packages(ann.caller, [lib("1.0.0")])
    row = Package.objects.get(id=row.id)
    assert (row.usable, row.findings) == (True, [])
    offered = implementations(ann.caller, "com.example.Lib")
    assert {one.class_name for one in offered} == {"com.example.Lib", "com.example.Child"}


def test_what_another_project_brought_is_inherited_a_while_later(root: Any, eve: Any) -> None:
    """Nobody's request waits for the packages of others; a worker links them."""
    child = archive("com.example.Child", extends="com.example.Lib", Require={"com.example.Lib": 1})
    row = import_packages(eve.caller, [child], allow_missing=True).packages[0]
    gone = import_packages(
        eve.caller, [archive("com.example.Gone", Require={"com.example.Lib": 1})], allow_missing=True
    ).packages[0]
    base = archive("com.example.Base")
    middle = archive("com.example.Lib", "1.0.0", extends="com.example.Base", Require={"com.example.Base": None})
    import_packages(root.caller, [base, middle], is_public=True)

    def known() -> set[str]:
        return {one.class_name.rpartition(".")[2] for one in implementations(eve.caller, "com.example.Base")}

    row = Package.objects.get(id=row.id)
    assert (row.usable, row.unlinked, known()) == (True, True, {"Base", "Lib"})
    blobs.store().remove(gone.digest)
    assert imports.link() == 2
    row = Package.objects.get(id=row.id)
    assert (row.usable, row.unlinked, row.findings) == (True, False, [])
    assert known() == {"Base", "Lib", "Child"}
    assert imports.link() == 0


def test_what_an_extension_provides_is_not_missing(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"com.example.Lib": "1", "test.extension": None}
    row = import_packages(ann.caller, [archive("com.example.User", Require=needs)], allow_missing=True).packages[0]
    assert not row.usable
    point = SimpleNamespace(dist=SimpleNamespace(name="test.extension"))
    asked = requirements.entry_points
    monkeypatch.setattr(
        requirements, "entry_points", lambda *, group: [point, *asked(group=group)] if "extensions" in group else []
    )
    import_packages(ann.caller, [lib("1.0.0")])
    assert Package.objects.get(id=row.id).usable
