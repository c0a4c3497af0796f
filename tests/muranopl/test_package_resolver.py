from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from vetro.muranopl.declarations.versions import Version
from vetro.muranopl.errors import ClassNotFound, DeclarationError, PackageForClassNotFound, PackageNotFound
from vetro.muranopl.package_resolver import (
    Package,
    PackageResolver,
    Skipped,
    allows,
    with_implicit_requirements,
)
from vetro.yaql.errors import kind_of


class Fake:
    """As much of a package as choosing needs."""

    def __init__(
        self, name: str, version: str = "0.0.0", classes: Iterable[str] = (), require: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.version = Version(version)
        self.format = (1, 4)
        self.classes = {c: f"{c}.yaml" for c in classes}
        self.requirements = dict(require or {})
        self.effective_requirements = with_implicit_requirements(name, self.version, self.requirements)

    def __repr__(self) -> str:
        return f"{self.name}/{self.version}"


class Source:
    def __init__(self, *items: Any) -> None:
        self.items = [i for i in items if isinstance(i, Fake)]
        self.left = [i for i in items if isinstance(i, Skipped)]

    def packages(self, name: str) -> list[Any]:
        return [p for p in self.items if p.name == name]

    def packages_with_class(self, class_name: str) -> list[Any]:
        return [p for p in self.items if class_name in p.classes]

    def skipped(self) -> list[Skipped]:
        return self.left


CORE = Fake("io.murano", classes=["io.murano.Object"])


def resolver(*items: Any, fixations: Any = None) -> PackageResolver:
    return PackageResolver(Source(CORE, *items), fixations)


def lib(*versions: str) -> list[Fake]:
    return [Fake("lib", v, ["lib.Item"]) for v in versions]


# -- requirements -----------------------------------------------------------------------------------------------------


def test_requirements_begin_with_oneself_and_the_core_library() -> None:
    stated = {"b": "1", "a": ""}
    assert list(with_implicit_requirements("app", Version("2.3.4"), stated).items()) == [
        ("app", "2"),
        ("io.murano", "0"),
        ("b", "1"),
        ("a", "0"),
    ]


def test_stated_requirements_win_over_implicit_ones() -> None:
    effective = with_implicit_requirements("app", Version("2.0.0"), {"lib": "1", "io.murano": ">=1", "app": "1"})
    assert list(effective.items()) == [("app", "1"), ("io.murano", ">=1"), ("lib", "1")]


def test_the_core_library_requires_only_itself() -> None:
    assert with_implicit_requirements("io.murano", Version("0.0.0"), {}) == {"io.murano": "0"}


def test_allowed_are_required_versions_and_its_own() -> None:
    package: Any = Fake("app", "1.0.0-rc.1", require={"lib": ">=1.2"})
    assert allows(package, "lib", Version("1.2.0"))
    assert not allows(package, "lib", Version("1.1.0"))
    assert not allows(package, "other", Version("0.0.0"))
    assert allows(package, "app", Version("1.0.0-rc.1"))
    assert allows(package, "app", Version("1.4.0"))


# -- packages by name -------------------------------------------------------------------------------------------------


def test_the_highest_allowed_version_is_found() -> None:
    assert repr(resolver(*lib("1.0.0", "1.5.0", "2.0.0")).find_package("lib", "1")) == "lib/1.5.0"


def test_an_absent_spec_is_zero() -> None:
    assert repr(resolver(*lib("0.4.0", "1.0.0")).find_package("lib")) == "lib/0.4.0"
    with pytest.raises(PackageNotFound) as caught:
        resolver(*lib("1.0.0")).find_package("lib", None)
    assert "in version 0; there is 1.0.0" in caught.value.message
    assert "lib: '*'" in (caught.value.hint or "")


def test_versions_in_use_are_preferred() -> None:
    found = resolver(*lib("1.0.0", "1.5.0"))
    assert repr(found.find_package("lib", "1.0.0")) == "lib/1.0.0"
    assert repr(found.find_package("lib", ">=1")) == "lib/1.0.0"
    assert repr(found.find_package("lib", ">=1.1")) == "lib/1.5.0"
    assert repr(found.find_package("lib", ">=1")) == "lib/1.5.0"


def test_stored_fixations_are_preferred_and_written_compacted() -> None:
    found = resolver(*lib("1.0.0", "1.5.0"), fixations={"lib": ["1.0"], "gone": ["3.0.0"]})
    assert found.used() == {}
    assert repr(found.find_package("lib", "1")) == "lib/1.0.0"
    assert found.used() == {"lib": ["1.0.0"]}


def test_fixations_that_no_longer_exist_do_no_harm() -> None:
    assert repr(resolver(*lib("1.5.0"), fixations={"lib": ["1.0.0"]}).find_package("lib", "1")) == "lib/1.5.0"


def test_malformed_fixations_are_refused() -> None:
    with pytest.raises(DeclarationError):
        resolver(fixations={"lib": ["x"]})


def test_unknown_packages_name_what_was_left_out() -> None:
    left = Skipped("/packages/t", "format MuranoPL/9.9 is unknown", "t", "1.0.0", frozenset(["t.Main"]))
    found = resolver(left)
    with pytest.raises(PackageNotFound, match=r"'t' is not found; /packages/t is left out: format MuranoPL/9\.9"):
        found.find_package("t", "*")
    with pytest.raises(PackageForClassNotFound, match="/packages/t is left out") as caught:
        found.for_header("t.Main")
    assert kind_of(caught.value) == "package-not-found"


# -- classes from code ------------------------------------------------------------------------------------------------


def test_own_classes_come_first_then_requirements_in_order() -> None:
    app: Any = Fake("app", classes=["x.C"], require={"b": "", "a": ""})
    a, b = Fake("a", classes=["x.C", "x.D"]), Fake("b", classes=["x.C", "x.D"])
    found = resolver(app, a, b)
    assert repr(found.find_class_from(app, "x.C")) == "app/0.0.0"
    assert repr(found.find_class_from(app, "x.D")) == "b/0.0.0"
    assert repr(found.find_class_from(app, "io.murano.Object")) == "io.murano/0.0.0"


def test_requirements_are_not_transitive() -> None:
    app: Any = Fake("app", require={"mid": ""})
    found = resolver(app, Fake("mid", require={"lib": "1"}), *lib("1.0.0"))
    with pytest.raises(ClassNotFound, match=r"'lib\.Item' is not found in packages app, io\.murano, mid") as caught:
        found.find_class_from(app, "lib.Item")
    assert caught.value.hint == "package 'lib' has it: add 'lib: 1' to Require of 'app'"


def test_a_missing_requirement_fails_only_when_it_is_reached() -> None:
    app: Any = Fake("app", require={"a": "", "lib": "7", "z": ""})
    found = resolver(app, Fake("a", classes=["a.A"]), *lib("0.1.0"), Fake("z", classes=["z.Z"]))
    assert repr(found.find_class_from(app, "a.A")) == "a/0.0.0"
    with pytest.raises(PackageNotFound, match=r"in version 7; there is 0\.1\.0"):
        found.find_class_from(app, "z.Z")


def test_packages_that_were_only_searched_are_not_used() -> None:
    app: Any = Fake("app", require={"a": "", "lib": "1"})
    found = resolver(app, Fake("a"), *lib("1.0.0"))
    found.find_class_from(app, "lib.Item")
    assert found.used() == {"lib": ["1.0.0"]}


def test_an_explicit_requirement_of_oneself_reaches_other_versions() -> None:
    old, new = Fake("app", "1.0.0", ["app.Old"]), Fake("app", "2.0.0", ["app.New"], {"app": "1"})
    implicit = Fake("app", "2.1.0", ["app.New"])
    found = resolver(old, new, implicit)
    assert repr(found.find_class_from(as_package(new), "app.Old")) == "app/1.0.0"
    with pytest.raises(ClassNotFound):
        found.find_class_from(as_package(implicit), "app.Old")


def as_package(fake: Fake) -> Package:
    result: Any = fake
    return result


def test_a_version_spec_replaces_the_requirement() -> None:
    app = as_package(Fake("app", require={"lib": "1"}))
    found = resolver(app, *lib("1.0.0", "2.0.0"), Fake("other", "2.5.0", ["lib.Item"]))
    assert repr(found.find_class_from(app, "lib.Item")) == "lib/1.0.0"
    assert repr(found.find_class_from(app, "lib.Item", "2")) == "lib/2.0.0"
    assert repr(found.find_class_from(app, "lib.Item", ">2.0")) == "other/2.5.0"
    with pytest.raises(PackageForClassNotFound):
        found.find_class_from(app, "lib.Item", "9")


# -- classes of headers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catalog", "header", "expected"),
    [
        (["0.4.0", "1.4.0"], None, "1.4.0"),
        (["0.4.0", "1.4.0", "2.0.0-rc"], None, "1.4.0"),
        (["0.4.0", "1.4.0"], "", "1.4.0"),
        (["2.0.0-rc", "1.0.0-rc"], None, "2.0.0-rc"),
        (["1.2.0", "1.2.5", "1.3.0", "2.0.0"], "1.2.3", "1.2.5"),
        (["1.2.0", "1.2.5", "1.3.0", "2.0.0"], "=1.2.0", "1.2.0"),
        (["1.2.0", "1.5.1", "2.0.0"], "1.4.0", "1.5.1"),
        (["1.2.0", "2.1.0-rc.1", "2.0.0"], 1, "1.2.0"),
        (["0.4.0", "1.4.0"], "!=1", "0.4.0"),
        (["0.0.0"], 0.0, "0.0.0"),
    ],
)
def test_header_versions(catalog: list[str], header: Any, expected: str) -> None:
    assert str(resolver(*lib(*catalog)).for_header("lib.Item", header).version) == expected


@pytest.mark.parametrize("header", ["3.0.0", "3", "1.3", ">=3"])
def test_header_versions_without_replacement(header: str) -> None:
    with pytest.raises(PackageForClassNotFound, match=r"package 'lib' has it in 2\.0\.0, 1\.2\.0"):
        resolver(*lib("1.2.0", "2.0.0")).for_header("lib.Item", header)


def test_malformed_header_versions_are_value_errors() -> None:
    with pytest.raises(DeclarationError) as caught:
        resolver(*lib("1.2.0")).for_header("lib.Item", "abc")
    assert kind_of(caught.value) == "value-error"


def test_headers_without_version_keep_the_deployed_one() -> None:
    found = resolver(*lib("1.2.0", "2.0.0"), fixations={"lib": ["1.2.0"]})
    assert repr(found.for_header("lib.Item")) == "lib/1.2.0"


def test_headers_may_name_the_package() -> None:
    found = resolver(Fake("a", "1.0.0", ["x.C"]), Fake("b", "2.0.0", ["x.C"]), Fake("c"))
    assert repr(found.for_header("x.C")) == "b/2.0.0"
    assert repr(found.for_header("x.C", None, "a")) == "a/1.0.0"
    with pytest.raises(PackageForClassNotFound, match=r"package 'c' has no class 'x\.C'"):
        found.for_header("x.C", None, "c")
    with pytest.raises(PackageNotFound, match="package 'd' is not found"):
        found.for_header("x.C", None, "d")


def test_a_package_in_use_wins_among_several_with_the_class() -> None:
    found = resolver(Fake("a", "1.0.0", ["x.C"]), Fake("b", "2.0.0", ["x.C"]))
    found.for_header("x.C", None, "a")
    assert repr(found.find_package_for_class("x.C", "*")) == "a/1.0.0"


def test_what_is_used_since_is_preferred_for_a_class_that_was_looked_for_before() -> None:
    found = resolver(Fake("a", "1.0.0", ["x.C", "x.D"]), Fake("a", "2.0.0", ["x.C", "x.D"]))
    assert repr(found.find_package_for_class("x.C", "1")) == "a/1.0.0"
    assert repr(found.find_package_for_class("x.D", "*")) == "a/1.0.0"
    found.find_package("a", "2")
    assert repr(found.find_package_for_class("x.C", "*")) == "a/2.0.0"
    found.load_fixations({"a": ["1.0.0"]})
    assert repr(found.find_package_for_class("x.D", "1")) == "a/1.0.0"


def test_equal_candidates_are_taken_by_name() -> None:
    found = resolver(Fake("b", "1.0.0", ["x.C"]), Fake("a", "1.0.0", ["x.C"]))
    assert repr(found.find_package_for_class("x.C", "*")) == "a/1.0.0"


def test_unknown_classes() -> None:
    with pytest.raises(PackageForClassNotFound, match=r"no package has class 'no\.Such'"):
        resolver().find_package_for_class("no.Such")
