from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from vetro.muranopl.code_cache import MemoryCache
from vetro.muranopl.package_resolver import PackageResolver, ResourceNotFound, Skipped
from vetro.packages.build import build_archive
from vetro.packages.directory import DirectorySource, find_packages
from vetro.packages.errors import ArchiveError, ManifestError, PackageError, UnknownFormat
from vetro.packages.load import load_path, open_package
from vetro.packages.memory import memory_package, memory_source
from vetro.packages.repository import RepositorySource
from vetro.packages.source import CombinedSource, PackageList


def write(folder: Path, name: str = "t.Lib", version: str = "1.0.0", extra: str = "") -> Path:
    (folder / "Classes").mkdir(parents=True)
    (folder / "manifest.yaml").write_text(
        f"FullName: {name}\nType: Library\nVersion: {version}\nClasses: {{{name}: C.yaml}}\n{extra}"
    )
    (folder / "Classes/C.yaml").write_text(f"Name: {name}\n")
    return folder


def shown(packages: Any) -> list[str]:
    return sorted(f"{p.name}/{p.version}" for p in packages)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "vetro")


# -- finding ----------------------------------------------------------------------------------------------------------


def test_every_folder_with_a_manifest_is_a_package_and_nothing_below(tmp_path: Path) -> None:
    write(tmp_path / "b/App/v0")
    write(tmp_path / "b/App/v1")
    write(tmp_path / "b/App/v1/nested")
    write(tmp_path / "a")
    write(tmp_path / ".git/x")
    (tmp_path / "z").mkdir()
    found = [os.path.relpath(p, tmp_path) for p in find_packages(tmp_path)]
    assert found == ["a", "b/App/v0", "b/App/v1"]


def test_links_that_lead_back_up_end(tmp_path: Path) -> None:
    write(tmp_path / "a/p")
    (tmp_path / "a/up").symlink_to(tmp_path)
    assert [os.path.relpath(p, tmp_path) for p in find_packages(tmp_path)] == ["a/p"]


def test_versions_side_by_side(tmp_path: Path) -> None:
    for version in ("1.0.0", "1.2.0", "2.0.0"):
        write(tmp_path / f"App/{version}", version=version)
    source = DirectorySource(tmp_path)
    assert shown(source.packages("t.Lib")) == ["t.Lib/1.0.0", "t.Lib/1.2.0", "t.Lib/2.0.0"]
    assert len(source.packages_with_class("t.Lib")) == 3
    assert str(PackageResolver(source).find_package("t.Lib", "1").version) == "1.2.0"
    assert source.packages("other") == [] and source.packages_with_class("other") == []


def test_bad_packages_are_logged_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "good")
    write(tmp_path / "format", "t.New", extra="Format: 9.9\n")
    write(tmp_path / "again")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/manifest.yaml").write_text("a: [")
    source = DirectorySource(tmp_path)
    assert shown(source.all()) == ["t.Lib/1.0.0"]
    by_name = {os.path.basename(s.location): s for s in source.skipped()}
    assert set(by_name) == {"bad", "format", "good"}
    assert "not valid YAML" in by_name["bad"].message and "bad/manifest.yaml:2:1" in by_name["bad"].message
    assert (by_name["format"].name, by_name["format"].classes) == ("t.New", frozenset(["t.New"]))
    assert f"t.Lib 1.0.0 is already there, from {tmp_path}/again" in by_name["good"].message
    assert len([r for r in caplog.records if "is left out" in r.getMessage()]) == 3


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert DirectorySource(tmp_path / "no").all() == []


def test_a_link_in_a_package_may_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    package_folder = write(tmp_path / "p")
    (package_folder / "Resources").mkdir()
    (package_folder / "Resources/out").symlink_to(tmp_path / "secret")
    (package_folder / "Resources/in").symlink_to("../Classes/C.yaml")
    (package_folder / "Resources/dir").symlink_to(tmp_path)
    package = open_package(package_folder)
    assert package.resource("in") == b"Name: t.Lib\n"
    for path in ("out", "dir/secret"):
        with pytest.raises(ResourceNotFound, match="a symbolic link leads out"):
            package.resource(path)


# -- cached manifests -------------------------------------------------------------------------------------------------


def test_parsed_manifests_are_kept_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "p", extra="Require: {a: 1}\nMeta: {m: {x: [1, 2.5, null]}}\nSupplier: {Name: s}\n")
    cache = MemoryCache()
    first = open_package(folder, cache=cache)
    monkeypatch.setattr("vetro.packages.index.parse_manifest", lambda *_: pytest.fail("parsed again"))
    again = open_package(folder, cache=cache)
    for name in ("name", "version", "type", "format", "requirements", "classes", "meta", "supplier", "display_name"):
        assert getattr(again, name) == getattr(first, name)
    monkeypatch.undo()
    (folder / "manifest.yaml").write_text("FullName: t.Other\nType: Library\n")
    assert open_package(folder, cache=cache).name == "t.Other"


def test_manifests_with_warnings_are_parsed_each_time(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", extra="Unknown: 1\n")
    cache = MemoryCache()
    assert open_package(folder, cache=cache).warnings
    assert len(cache) == 0 and open_package(folder, cache=cache).warnings


# -- paths people name ------------------------------------------------------------------------------------------------


def test_load_path_takes_all_kinds(tmp_path: Path) -> None:
    folder = write(tmp_path / "tree/App/1.0.0")
    write(tmp_path / "tree/App/2.0.0", version="2.0.0")
    (tmp_path / "repo/apps").mkdir(parents=True)
    archive = tmp_path / "repo/apps/t.Lib.1.0.0.zip"
    archive.write_bytes(build_archive(folder))
    write(tmp_path / "repo/folder", "t.Other")
    assert shown(load_path(folder)) == ["t.Lib/1.0.0"]
    assert shown(load_path(tmp_path / "tree")) == ["t.Lib/1.0.0", "t.Lib/2.0.0"]
    assert shown(load_path(archive)) == ["t.Lib/1.0.0"]
    assert shown(load_path(tmp_path / "repo")) == ["t.Lib/1.0.0", "t.Other/1.0.0"]
    assert shown(RepositorySource(tmp_path / "repo").all()) == ["t.Lib/1.0.0", "t.Other/1.0.0"]
    assert shown(DirectorySource(tmp_path / "repo").all()) == ["t.Other/1.0.0"]


def test_a_named_package_has_to_be_sound(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat):
        load_path(write(tmp_path / "p", extra="Format: 9.9\n"))
    (tmp_path / "m").mkdir()
    (tmp_path / "m/manifest.yaml").write_text("")
    with pytest.raises(ManifestError):
        load_path(tmp_path / "m")
    (tmp_path / "x.zip").write_bytes(b"no")
    with pytest.raises(ArchiveError):
        load_path(tmp_path / "x.zip")
    with pytest.raises(PackageError, match="no such file or folder"):
        load_path(tmp_path / "nothing")
    with pytest.raises(PackageError, match=r"there is no manifest\.yaml"):
        open_package(tmp_path)


def test_a_folder_without_usable_packages_says_why(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="no usable package") as caught:
        load_path(tmp_path)
    assert "a package is a folder with manifest.yaml" in (caught.value.hint or "")
    write(tmp_path / "p", extra="Format: 9.9\n")
    (tmp_path / "x.zip").write_bytes(b"no")
    with pytest.raises(PackageError) as caught:
        load_path(tmp_path)
    assert "/p: format MuranoPL/9.9.0 is unknown" in caught.value.message
    assert "x.zip: no readable ZIP archive" in caught.value.message


# -- sources ----------------------------------------------------------------------------------------------------------


def lib(version: str, text: str = "Name: l.L") -> dict[str, Any]:
    return {"name": "l", "version": version, "classes": {"l.L": text}}


def test_combined_sources_put_versions_together_and_the_first_wins() -> None:
    first, second = memory_source([lib("1.0.0", "Name: first")]), memory_source([lib("1.0.0"), lib("2.0.0")])
    both = CombinedSource([first, second])
    assert shown(both.packages("l")) == ["l/1.0.0", "l/2.0.0"]
    assert {p.read_class("l.L").text for p in both.packages_with_class("l.L")} == {"Name: first", "Name: l.L"}
    assert both.packages("l")[0] is first.packages("l")[0]


def test_a_replaced_version_does_not_lend_its_classes() -> None:
    replacement = memory_source([{"name": "l", "version": "1.0.0", "classes": {"l.New": "Name: l.New"}}])
    both = CombinedSource([replacement, memory_source([lib("1.0.0")])])
    assert both.packages_with_class("l.L") == []
    assert len(both.packages_with_class("l.New")) == 1


def test_lists_report_what_is_skipped() -> None:
    left = Skipped("x", "why")
    found = PackageList([memory_package(lib("1.0.0")), left, memory_package(lib("1.0.0"))])
    assert found.skipped()[0] is left and "already there" in found.skipped()[1].message
    assert found.names() == ["l"] and len(found.all()) == 1
    assert CombinedSource([found, found]).skipped() == (*found.skipped(), *found.skipped())


# -- memory -----------------------------------------------------------------------------------------------------------


def test_memory_packages_have_everything() -> None:
    package = memory_package(
        {
            "name": "t",
            "version": 1,
            "format": "1.4",
            "require": {"lib": None, "x": 1.2},
            "type": "Application",
            "meta": {"t.M": {"text": "x"}},
            "resources": {"a/b.txt": "text\r\n", "c.bin": b"\xff"},
            "classes": {"t.A": "Name: t.A\n---\nName: t.B\n", "t.B": "= t.A"},
        }
    )
    assert (str(package.version), package.format, package.type) == ("1.0.0", (1, 4), "Application")
    assert package.requirements == {"lib": "", "x": "1.2"} and package.meta == {"t.M": {"text": "x"}}
    assert package.resource_text("a/b.txt") == "text\n" and package.resource("c.bin") == b"\xff"
    assert package.read_class("t.B") == package.read_class("t.A")
    assert package.read_class("t.A").file_id == "t-1/Classes/t.A.yaml"
    with pytest.raises(PackageError, match=r"c\.bin:1: not valid UTF-8"):
        package.resource_text("c.bin")


def test_memory_defaults_and_typing_errors() -> None:
    package = memory_package({"name": "t"})
    assert (package.format, str(package.version), package.type) == ((1, 0), "0.0.0", "Library")
    with pytest.raises(ValueError, match="unknown keys of a package: clases"):
        memory_package({"name": "t", "clases": {}})


def test_memory_packages_of_unknown_formats() -> None:
    data = {"name": "t", "format": "9.9", "classes": {"t.Main": ""}}
    with pytest.raises(UnknownFormat):
        memory_package(data)
    (left,) = memory_source([data]).skipped()
    assert (left.name, left.version, left.classes) == ("t", "0.0.0", frozenset(["t.Main"]))
