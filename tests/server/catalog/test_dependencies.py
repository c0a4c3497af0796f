"""Which packages a task gets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.catalog.archives import archive
from tests.server.layers import People, layer
from vetro.packages.lock import ChosenVersion, LockedPackage
from vetro.server.catalog import service
from vetro.server.catalog.dependencies import Wishes, choose_for_model, packages_for, packages_for_model
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid


def chosen(packages: list[Package]) -> list[str]:
    return sorted(f"{p.fqn} {p.version}" for p in packages)


@layer()
def shelf(people: People) -> dict[str, Package]:
    """An application that requires a library that requires a base; several versions of each."""
    packages = import_packages(
        people("ann").caller,
        [
            archive("com.example.Base", "1.0.0"),
            archive("com.example.Base", "1.4.0"),
            archive("com.example.Base", "2.0.0"),
            archive("com.example.Lib", "1.0.0", Require={"com.example.Base": "1"}),
            archive("com.example.App", "1.0.0", Require={"com.example.Lib": "1"}),
            archive("com.example.App", "1.1.0", Require={"com.example.Lib": "1"}),
            archive("com.example.App", "3.0.0-rc1"),
        ],
    ).packages
    return {f"{p.fqn} {p.version}": p for p in packages}


def test_closure_with_the_highest_that_fit(ann: Any, shelf: Any) -> None:
    found = packages_for(ann.caller, [("com.example.App", None)])
    assert chosen(found) == ["com.example.App 1.1.0", "com.example.Base 1.4.0", "com.example.Lib 1.0.0"]
    found = packages_for(ann.caller, [("com.example.App", "1.0.0"), ("com.example.Base", "2")])
    assert chosen(found) == [
        "com.example.App 1.0.0", "com.example.Base 1.4.0", "com.example.Base 2.0.0", "com.example.Lib 1.0.0",
    ]  # fmt: skip


def test_headers_of_a_model(ann: Any, shelf: Any) -> None:
    model = {
        "Objects": {
            "?": {"id": "e", "type": "io.murano.Environment"},
            "applications": [
                {"?": {"id": "a", "type": "com.example.App/1.0.0@com.example.App", "classVersion": "9"}},
                {"?": {"id": "b", "type": "com.example.App", "classVersion": "1.0.9"}},
                {"inner": {"?": {"id": "c", "type": "com.example.Base", "package": "com.example.Base"}}},
            ],
        }
    }
    found = packages_for_model(ann.caller, model)
    # 1.0.9 is not there: the latest 1.0 takes its place.
    assert chosen(found) == [
        "com.example.App 1.0.0", "com.example.Base 1.4.0", "com.example.Base 2.0.0", "com.example.Lib 1.0.0",
    ]  # fmt: skip


def test_pinned_versions_come_first_while_they_fit(ann: Any, shelf: Any) -> None:
    base = shelf["com.example.Base 1.0.0"]
    app = shelf["com.example.App 1.0.0"]
    pinned = [
        LockedPackage("com.example.Base", "1.0.0", base.digest),
        LockedPackage("com.example.App", "1.0.0", app.digest),
    ]
    model = {"?": {"id": "a", "type": "com.example.App"}}
    found = packages_for_model(ann.caller, model, pinned)
    assert chosen(found) == ["com.example.App 1.0.0", "com.example.Base 1.0.0", "com.example.Lib 1.0.0"]


def test_two_versions_of_a_package_can_be_pinned(ann: Any, shelf: Any) -> None:
    both = [
        LockedPackage("com.example.Base", version, shelf[f"com.example.Base {version}"].digest)
        for version in ("1.0.0", "2.0.0")
    ]
    model = [{"?": {"id": "a", "type": "com.example.App/1.0.0"}}, {"?": {"id": "b", "type": "com.example.Base"}}]
    found = packages_for_model(ann.caller, model, both)
    # The requirement '1' takes the pinned one that fits although 1.4.0 is there; the object the higher pinned one.
    assert chosen(found) == [
        "com.example.App 1.0.0", "com.example.Base 1.0.0", "com.example.Base 2.0.0", "com.example.Lib 1.0.0",
    ]  # fmt: skip


def test_every_choice_has_its_reason(ann: Any, shelf: Any) -> None:
    model = {"?": {"id": "a", "type": "com.example.App/1.0.0@com.example.App"}}
    found = choose_for_model(ann.caller.project_id, model)
    told = [choice for choice in found.resolution if not choice.chosen.startswith("io.")]
    assert told == [
        ChosenVersion("", "com.example.App", "1.0.0", "com.example.App/1.0.0"),
        ChosenVersion("com.example.App/1.0.0", "com.example.Lib", "1", "com.example.Lib/1.0.0"),
        ChosenVersion("com.example.Lib/1.0.0", "com.example.Base", "1", "com.example.Base/1.4.0"),
    ]
    assert ChosenVersion("com.example.Lib/1.0.0", "io.murano", "0", "io.murano/0.0.0") in found.resolution


def test_wishes(ann: Any, shelf: Any) -> None:
    project = ann.caller.project_id
    model = {"?": {"id": "a", "type": "com.example.App/1.0.0@com.example.App"}}
    old = shelf["com.example.Base 1.0.0"]
    pinned = [LockedPackage("com.example.Base", "1.0.0", old.digest)]
    names = ("com.example.App", "com.example.Base")
    lifted = choose_for_model(project, model, pinned, Wishes(lifted=names))
    assert chosen(lifted.rows) == ["com.example.App 1.1.0", "com.example.Base 1.4.0", "com.example.Lib 1.0.0"]
    wanted = choose_for_model(project, model, pinned, Wishes(wanted={"com.example.App": "3.0.0-rc1"}))
    assert chosen(wanted.rows) == ["com.example.App 3.0.0-rc1"]
    kept = choose_for_model(project, model, pinned, Wishes(wanted={"com.example.Base": "2.0.0"}))
    # Nothing may use it: 'Lib' requires 1.
    assert chosen(kept.rows)[1] == "com.example.Base 1.4.0"
    with pytest.raises(Invalid, match=r"not found in version ==9.9.9"):
        choose_for_model(project, model, pinned, Wishes(wanted={"com.example.App": "9.9.9"}))
    exact = {"com.example.Lib/1.0.0": {"com.example.Base": "com.example.Base/1.0.0"}}
    bound = choose_for_model(project, model, (), Wishes(requirements=exact))
    assert "com.example.Base 1.0.0" in chosen(bound.rows)


def test_pinned_versions_outlive_the_catalog(ann: Any, shelf: Any) -> None:
    base = shelf["com.example.Base 1.0.0"]
    service.delete(ann.caller, base)
    found = packages_for(
        ann.caller, [("com.example.Base", None)], [LockedPackage("com.example.Base", "1.0.0", base.digest)]
    )
    assert chosen(found) == ["com.example.Base 1.0.0"] and found[0].digest == base.digest


def test_what_is_missing_is_said_with_the_versions_there_are(ann: Any, shelf: Any) -> None:
    with pytest.raises(Invalid, match=r"com\.example\.Nope"):
        packages_for(ann.caller, [("com.example.Nope", None)])
    with pytest.raises(Invalid, match=r"com\.example\.Base.*2\.0\.0, 1\.4\.0, 1\.0\.0"):
        packages_for(ann.caller, [("com.example.Base", ">=5")])
    with pytest.raises(Invalid, match=r"no class 'com\.example\.Lib'"):
        packages_for_model(ann.caller, {"?": {"type": "com.example.Lib", "package": "com.example.Base"}})


def test_others_disabled_and_unusable_packages_do_not_count(ann: Any, eve: Any, shelf: Any) -> None:
    with pytest.raises(Invalid):
        packages_for(eve.caller, [("com.example.Base", None)])
    assert packages_for(eve.caller, [("com.example.Base", None)], project_id=ann.caller.project_id)
    service.change(ann.caller, shelf["com.example.Base 2.0.0"], enabled=False)
    assert chosen(packages_for(ann.caller, [("com.example.Base", None)])) == ["com.example.Base 1.4.0"]
    import_packages(ann.caller, [archive("com.example.Bad", Require={"no.such": 1})], allow_missing=True)
    with pytest.raises(Invalid, match="something that it requires was missing"):
        packages_for(ann.caller, [("com.example.Bad", None)])


def test_own_packages_hide_public_ones_of_the_same_version(ann: Any, root: Any) -> None:
    import_packages(root.caller, [archive("com.example.X", "1.0.0")], is_public=True)
    own = import_packages(ann.caller, [archive("com.example.X", "1.0.0", Description="own")]).packages[0]
    assert [p.id for p in packages_for(ann.caller, [("com.example.X", None)])] == [own.id]


def test_old_packages_find_what_their_code_names(ann: Any) -> None:
    import_packages(ann.caller, [archive("com.example.Parent")])
    old = "Namespaces: {=: com.old, p: com.example}\nName: Child\nExtends: p:Parent\n"
    import_packages(ann.caller, [archive("com.old.Child", Format="1.0", classes={"com.old.Child": old})])
    found = packages_for(ann.caller, [("com.old.Child", None)])
    assert chosen(found) == ["com.example.Parent 0.0.0", "com.old.Child 0.0.0"]


def test_replaced_standard_packages_are_included(ann: Any, root: Any) -> None:
    from vetro.library import applications_package

    import_packages(root.caller, [applications_package().blob], is_public=True)
    found = packages_for(ann.caller, [("io.murano.applications.ServerGroup", None)])
    assert chosen(found) == ["io.murano.applications 0.0.0"] and not found[0].embedded


def test_few_queries(ann: Any, shelf: Any, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(5):
        packages_for_model(ann.caller, {"?": {"type": "com.example.App"}})
