from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.packages.archive import ArchiveLimits, ArchiveTree, require_manifest
from vetro.packages.errors import ArchiveError
from vetro.packages.load import open_package

MANIFEST = "FullName: a.B\nType: Library\nClasses: {a.B: B.yaml}\n"


def packed(*entries: tuple[str | zipfile.ZipInfo, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return target.getvalue()


def info(name: str, mode: int = 0) -> zipfile.ZipInfo:
    result = zipfile.ZipInfo(name)
    result.external_attr = mode << 16
    return result


GOOD = packed(("manifest.yaml", MANIFEST), ("Classes/B.yaml", "Name: a.B\n"), ("Resources/x/y.txt", "data"))


def refused(data: bytes, message: str, **limits: int) -> ArchiveError:
    with pytest.raises(ArchiveError, match=message) as caught:
        tree = ArchiveTree(data, location="app.zip", limits=ArchiveLimits(**limits))
        for path in tree.paths():
            tree.read(path)
    assert caught.value.message.startswith("app.zip")
    return caught.value


def test_files_are_read_in_place() -> None:
    tree = ArchiveTree(GOOD, location="app.zip")
    assert tree.paths() == ["Classes/B.yaml", "Resources/x/y.txt", "manifest.yaml"]
    assert tree.read("Classes/./B.yaml") == b"Name: a.B\n"
    assert tree.exists("Resources/x/y.txt") and not tree.exists("Resources/x") and not tree.exists("../x")
    assert tree.file_id("Classes/B.yaml") == "app.zip/Classes/B.yaml"
    with pytest.raises(FileNotFoundError):
        tree.read("nothing")
    with pytest.raises(ValueError, match="leads out"):
        tree.read("Classes/../../x")


def test_stored_files_folders_and_an_archive_behind_other_data_are_fine() -> None:
    data = packed(("Classes/", b""), ("Classes/a.yaml", b"x" * 3000), method=zipfile.ZIP_STORED)
    tree = ArchiveTree(b"#!/bin/sh\n" + data)
    assert tree.paths() == ["Classes/a.yaml"]
    assert tree.read("Classes/a.yaml") == b"x" * 3000


def test_names_may_be_in_any_script() -> None:
    tree = ArchiveTree(packed(("Ресурсы/ü.txt", "x"), ("plain", "y")))
    assert tree.read("Ресурсы/ü.txt") == b"x"


def test_a_package_is_loaded_from_a_path_without_unpacking(tmp_path: Path) -> None:
    path = tmp_path / "app.zip"
    path.write_bytes(GOOD)
    package = open_package(path)
    assert (package.name, package.resource("x/y.txt")) == ("a.B", b"data")
    assert package.read_class("a.B").file_id == f"{path}/Classes/B.yaml"
    assert os.listdir(tmp_path) == ["app.zip"]


def test_a_folder_is_made_only_for_those_who_ask() -> None:
    tree = ArchiveTree(GOOD)
    folder = Path(tree.directory())
    assert (folder / "Resources/x/y.txt").read_bytes() == b"data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert tree.directory() == str(folder)
    del tree
    assert not folder.exists()


# -- hostile archives -------------------------------------------------------------------------------------------------


@pytest.mark.attack("uploads", "archives")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "leads out of its folder"),
        ("Classes/../../evil", "leads out"),
        ("/etc/passwd", "absolute"),
        ("C:/evil", "absolute"),
        ("a\\..\\evil", "backslash"),
        ("bad\nname", "control characters"),
        ("..", "leads out"),
        ("x" * 1500, "longer than 1024"),
    ],
)
def test_names_that_lead_elsewhere(name: str, why: str) -> None:
    refused(packed((name, "x")), why)


@pytest.mark.attack("uploads", "archives")
def test_a_name_that_hides_its_end_behind_a_nul() -> None:
    data = packed(("aaaa.yaml", "x")).replace(b"aaaa.yaml", b"aa\x00a.yaml")
    refused(data, "control characters")


@pytest.mark.attack("uploads", "archives")
@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices(kind: int) -> None:
    refused(packed((info("link", kind | 0o777), "/etc/passwd")), "symbolic link|no ordinary file")


@pytest.mark.attack("uploads", "archives")
def test_duplicates() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = packed(("a", "1"), ("a", "2"))
    refused(data, "'a' is there twice")
    refused(packed(("a", "1"), ("./a", "2")), "'a' is there twice")


@pytest.mark.attack("uploads", "archives")
def test_a_file_that_is_a_folder_too() -> None:
    refused(packed(("a", "1"), ("a/b", "2")), "'a' is a file and a folder")
    refused(packed(("a", "1"), ("a/", "")), "'a' is a file and a folder")


@pytest.mark.attack("uploads", "archives")
def test_too_many_entries() -> None:
    refused(packed(*((f"f{i}", "") for i in range(11))), "more than 10 entries", entries=10)


@pytest.mark.attack("uploads", "archives")
def test_many_entries_are_counted_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(*((f"f{i}", os.urandom(1000)) for i in range(1200)), method=zipfile.ZIP_STORED)
    monkeypatch.setattr("vetro.packages.archive._directory", lambda *_: pytest.fail("parsed"))
    refused(data, "more than 1000 entries", entries=1000)


@pytest.mark.attack("uploads", "archives")
def test_bombs() -> None:
    bomb = packed(("bomb", bytes(8 * 1024 * 1024)))
    assert len(bomb) < 20_000
    refused(bomb, "unpacks to more than 200 times its size")
    refused(bomb, "'bomb' has 8388608 bytes, 1000 are allowed", file=1000)
    refused(packed(*((f"f{i}", bytes(900)) for i in range(10))), "more than 5000 bytes", total=5000)
    refused(packed(("a", os.urandom(5000))), "it has .* bytes, 4000 are allowed", archive=4000)


def forge(data: bytes, offset: int, fmt: str, value: int) -> bytes:
    """Changes a field of the (only) entry in the directory of the archive."""
    at = data.rindex(b"PK\x01\x02") + offset
    return data[:at] + struct.pack(fmt, value) + data[at + struct.calcsize(fmt) :]


@pytest.mark.attack("uploads", "archives")
def test_an_entry_that_is_longer_than_stated_is_not_unpacked() -> None:
    refused(forge(packed(("bomb", bytes(3_000_000))), 24, "<I", 10), "damaged")


@pytest.mark.attack("uploads", "archives")
def test_an_entry_that_is_shorter_than_stated() -> None:
    refused(forge(packed(("a", b"xyz")), 24, "<I", 4), "damaged")


@pytest.mark.attack("uploads", "archives")
def test_other_forged_fields() -> None:
    data = packed(("a", b"xyz" * 10))
    refused(forge(data, 16, "<I", 0), "damaged")  # checksum
    refused(forge(data, 20, "<I", 0xFFFFFFF0), "lies outside")  # packed size
    refused(forge(data, 42, "<I", 0x7FFFFFF0), "lies outside|no readable ZIP")  # offset
    refused(forge(data, 42, "<I", 5), "damaged")
    refused(forge(data, 8, "<H", 1), "encrypted")
    refused(forge(data, 10, "<H", 12), "other than 'deflate'")
    refused(forge(packed(("a", b"xyz"), method=zipfile.ZIP_STORED), 24, "<I", 4), "two sizes")


@pytest.mark.attack("uploads", "archives")
def test_a_local_header_with_another_name() -> None:
    data = packed(("aaaa", b"x"))
    refused(data.replace(b"aaaa", b"bbbb", 1), "damaged")


@pytest.mark.attack("uploads", "archives")
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_are_refused(method: int) -> None:
    refused(packed(("a", b"x" * 100), method=method), "plain zip|other than 'deflate'")


@pytest.mark.attack("uploads", "archives")
@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", GOOD[:-30], GOOD[40:], b"PK\x05\x06" + bytes(18)[:10]])
def test_what_is_no_archive(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        tree = ArchiveTree(data)
        require_manifest(tree)
        for path in tree.paths():
            tree.read(path)


@pytest.mark.attack("uploads", "archives")
@settings(max_examples=examples(200))
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, 200))
def test_damage_never_surprises(at: int, byte: int, cut: int) -> None:
    data = GOOD[:at] + bytes([byte]) + GOOD[at + 1 : len(GOOD) - cut % 3]
    try:
        tree = ArchiveTree(data)
        contents = {path: tree.read(path) for path in tree.paths()}
    except ArchiveError:
        return
    assert all(len(content) < 1000 for content in contents.values())


@pytest.mark.attack("uploads", "archives")
def test_a_changed_archive_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(packed(("a", b"1" * 50), method=zipfile.ZIP_STORED))
    tree = ArchiveTree(path)
    path.write_bytes(packed(("a", b"2" * 50), method=zipfile.ZIP_STORED))
    with pytest.raises(ArchiveError, match="changed while it was in use"):
        tree.read("a")
    path.unlink()
    with pytest.raises(ArchiveError, match="cannot be opened"):
        tree.read("a")


def test_a_manifest_in_a_folder_gets_a_hint() -> None:
    with pytest.raises(ArchiveError, match=r"no manifest.yaml at its root") as caught:
        require_manifest(ArchiveTree(packed(("App/manifest.yaml", MANIFEST))))
    assert caught.value.hint == "it is in 'App': pack the folder's contents, not the folder"
