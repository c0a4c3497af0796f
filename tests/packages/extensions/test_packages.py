"""Python classes of installed distributions as packages of MuranoPL classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.packages.extensions.conftest import Counter, Install
from tests.support.host import Host
from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.package_resolver import Package as CatalogPackage
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.paths import check_paths
from vetro.packages.extensions.plugins import (
    load_extensions,
    required_extensions,
)


def test_a_distribution_becomes_a_package(install: Install) -> None:
    install("my-dist", {"a.b.Counter": Counter})
    (package,) = load_extensions().packages
    assert isinstance(package, CatalogPackage)
    assert (package.name, str(package.version), package.format, package.type) == ("my-dist", "0.0.0", (1, 0), "Library")
    assert list(package.classes) == ["a.b.Counter", "io.murano.extensions.a.b.Counter"]
    assert package.requirements == {"io.murano": "0"}
    assert (package.description, package.author) == ("about my-dist", "somebody")
    with pytest.raises(ResourceNotFound):
        package.resource("x")
    with pytest.raises(ClassNotFound):
        package.read_class("a.b.Other")
    assert check_classes(package) == []


def test_names_that_have_the_namespace_are_not_doubled(install: Install) -> None:
    install("d", {"io.murano.extensions.a.Counter": Counter})
    (package,) = load_extensions().packages
    assert list(package.classes) == ["io.murano.extensions.a.Counter"]


def test_the_old_name_of_a_class_leads_to_the_new_one(caplog: pytest.LogCaptureFixture) -> None:
    """Where an extension became a package with MuranoPL classes."""
    text = "Name: a.Thing\nMethods: {n: {Usage: Static, Body: [{Return: 5}]}}"
    there = memory_package({"name": "a", "classes": {"a.Thing": text}})
    code = "- Return: new('io.murano.extensions.a.%s').n()"
    assert Host().run(code % "Thing", packages=(there,), require={"a": "0"}) == 5
    assert "io.murano.extensions.a.Thing is the old name of class a.Thing" in caplog.text
    with pytest.raises(ClassNotFound, match=r"io\.murano\.extensions\.a\.Nope"):
        Host().run(code % "Nope", packages=(there,), require={"a": "0"})


def test_init_plugin_runs_once_a_process(install: Install) -> None:
    before = Counter.initialised
    install("d", {"a.Counter": Counter})
    load_extensions()
    load_extensions()
    assert before <= 1 and Counter.initialised == 1


def test_requirements_are_stated_in_python(install: Install) -> None:
    install("attribute", {"a.One": type("One", (), {})}, murano_requirements={"lib.x": ">=1.2", "lib.y": None})
    install("point", {"a.Two": type("Two", (), {})}, requirements={"lib.z": 1})
    found = {p.name: p.requirements for p in load_extensions().packages}
    assert found == {"attribute": {"lib.x": ">=1.2", "lib.y": ""}, "point": {"lib.z": "1"}}


@pytest.mark.parametrize("stated", [["x"], {"x": "?!"}])
def test_malformed_requirements_leave_the_distribution_out(install: Install, stated: Any) -> None:
    install("d", {"a.One": type("One", (), {})}, murano_requirements=stated)
    loaded = load_extensions()
    assert loaded.packages == () and loaded.notes[0].startswith("d is left out: 'murano_requirements' is")


def test_classes_of_two_distributions_are_disabled_in_all(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("one", {"a.X": type("X", (), {}), "a.Y": type("Y", (), {})})
    install("two", {"io.murano.extensions.a.X": type("X", (), {})})
    loaded = load_extensions()
    assert [(p.name, "a.X" in p.classes) for p in loaded.packages] == [("one", False)]
    assert "it is exported by one and two; remove one of them" in loaded.notes[0]
    assert loaded.notes[0] in caplog.text
    assert "a.X" in load_extensions(["One"]).packages[0].classes


def test_only_enabled_distributions_are_imported(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})})
    install("bad", {"a.Y": RuntimeError("must not be imported")})
    assert [p.name for p in load_extensions(["Good"]).packages] == ["good"]
    assert load_extensions(["good"]).notes == ()
    assert load_extensions(only=["good"]).notes == ()
    assert load_extensions([]).packages == ()


class Failing:
    @classmethod
    def init_plugin(cls) -> None:
        raise ValueError("no licence")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (ImportError("no module x"), "ImportError: no module x"),
        (5, "TypeError: bad:X is no class"),
        (Failing, "ValueError: no licence"),
        (type("Odd", (), {"f": int.from_bytes, "g": print}), None),
    ],
)
def test_a_failing_extension_is_left_out_alone(install: Install, target: Any, reason: str | None) -> None:
    install("bad", {"a.Bad": target})
    install("good", {"a.Good": type("Good", (), {})})
    loaded = load_extensions()
    assert "good" in [p.name for p in loaded.packages]
    if reason is not None:
        assert loaded.notes == (f"extension 'a.Bad' of bad is left out: {reason}",)


def test_names_that_are_no_classes_are_left_out(install: Install) -> None:
    install("d", {"a b": Counter, "1.x": Counter})
    assert len(load_extensions().notes) == 2


def test_a_check_knows_the_extensions_that_a_package_requires(install: Install, tmp_path: Path) -> None:
    install("my-dist", {"a.Counter": Counter})
    (tmp_path / "Classes").mkdir()
    manifest = "Format: 1.4\nType: Library\nFullName: t\nClasses: {t.A: A.yaml}\nRequire: {my-dist: 0}\n"
    (tmp_path / "manifest.yaml").write_text(manifest)
    body = "Body:\n      - $x: new('a.Counter', start => 1)\n      - $y: new('io.murano.extensions.a.Nope')\n"
    (tmp_path / "Classes" / "A.yaml").write_text(f"Name: t.A\nExtends: a.Counter\nMethods:\n  run:\n    {body}")
    (found,) = [p.message for _, p in check_paths([str(tmp_path)])]
    assert "io.murano.extensions.a.Nope" in found


def test_required_extensions_are_those_that_packages_name(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})})
    install("other", {"a.Y": RuntimeError("must not be imported")})
    app = memory_package({"name": "t", "classes": {}, "require": {"good": "0", "unknown": "0"}})
    assert [p.name for p in required_extensions([app]).packages] == ["good"]
    assert required_extensions([memory_package({"name": "t", "classes": {}})]).packages == ()
    assert required_extensions([app, memory_package({"name": "good", "classes": {}})]).packages == ()


def test_extensions_may_require_each_other(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})}, murano_requirements={"base": "0"})
    install("base", {"a.Y": type("Y", (), {})}, murano_requirements={"good": "0"})
    app = memory_package({"name": "t", "classes": {}, "require": {"good": "0"}})
    assert [p.name for p in required_extensions([app]).packages] == ["good", "base"]
    assert required_extensions([app], enabled=["base"]).packages == ()
