"""The standard packages keep what their last release promised; the release is in a folder of its own."""

from __future__ import annotations

import pytest

from tests.packages.compat.release import FOLDER, released, surface
from vetro.library import core_packages
from vetro.packages.compat.comparison import compare
from vetro.packages.compat.findings import Level, promises
from vetro.packages.memory import memory_package

PACKAGES = {package.name: package for package in core_packages()}


@pytest.mark.parametrize("name", PACKAGES)
def test_what_breaks_others_raises_the_number(name: str) -> None:
    old = [released(one) for one in PACKAGES]
    done = compare(released(name), PACKAGES[name], [one for one in old if one.name != name], seconds=120)
    breaks = [str(finding) for finding in done.findings if finding.level is Level.MAJOR]
    assert not breaks or promises(done.new, done.required), "\n".join(breaks)
    assert not [finding for finding in done.findings if finding.code in ("CMP190", "CMP191")]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_file_without_bodies_declares_the_same(name: str) -> None:
    bare = memory_package(surface(PACKAGES[name]))
    done = compare(bare, PACKAGES[name], seconds=120)
    assert [finding for finding in done.findings if finding.level is not Level.PATCH] == []
    assert len(str(surface(PACKAGES[name]))) < sum(len(PACKAGES[name].read_class(c).text) for c in bare.classes)


def test_a_break_would_be_seen() -> None:
    bare = surface(PACKAGES["io.vetro"])
    file = next(name for name, text in bare["files"].items() if "Contract" in text)
    gone = {**bare, "classes": {n: f for n, f in bare["classes"].items() if f != file}}
    done = compare(released("io.vetro"), memory_package(gone))
    assert "CMP100" in {finding.code for finding in done.findings}
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(PACKAGES)
