"""Folders of packages may hold anything: pipes, devices, sockets, sparse files, links that lead round or out."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import here, vetro, write_package
from vetro.packages.build import build_archive
from vetro.packages.errors import PackageError
from vetro.packages.files import DirectoryTree
from vetro.packages.load import load_path
from vetro.packages.regular import LARGEST_FILE, LARGEST_TOTAL, MOST_FILES, read_regular

__all__ = ["here", "vetro"]


@pytest.fixture(autouse=True)
def _never_waits() -> Iterator[None]:
    """Whoever opens a pipe without a writer waits for ever: a signal ends the test instead."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def package(folder: Path) -> Path:
    write_package(folder, {"t.Main": "Name: t.Main\nMethods:\n  run:\n    Scope: Public\n    Body: {Return: 1}\n"})
    return folder


def pipe(path: Path) -> str:
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return "a named pipe"


def unix_socket(path: Path) -> str:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return "a socket"


def sparse(path: Path) -> str:
    with path.open("ab") as file:
        file.truncate(20 << 30)
    return " bytes"


@pytest.mark.attack("uploads", "L: pipes and sparse files")
@pytest.mark.parametrize("make", [pipe, unix_socket, sparse])
@pytest.mark.parametrize("name", ["manifest.yaml", "Classes/Main.yaml"])
@pytest.mark.parametrize("command", ["check", "run", "package build"])
def test_commands_name_what_is_no_file_of_a_package(
    here: Path, vetro: Callable[..., Result], make: Callable[[Path], str], name: str, command: str
) -> None:
    what = make(package(here / "p") / name)
    (here / "model.yaml").write_text("?: {type: t.Main, id: m}\n")
    more = ["-m", "model.yaml", "--method", "run"] if command == "run" else []
    result = vetro(*command.split(), "p", *more)
    assert result.exit_code == 1, result.output
    assert name in result.output and what in result.output


@pytest.mark.attack("uploads", "L: pipes and sparse files")
def test_a_pipe_in_the_place_of_an_archive(here: Path, vetro: Callable[..., Result]) -> None:
    os.mkfifo(here / "p.zip")
    result = vetro("check", "p.zip")
    assert result.exit_code == 1 and "p.zip: this is a named pipe" in result.output


@pytest.mark.attack("uploads", "L: pipes and sparse files")
def test_devices_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="/dev/zero: this is a device"):
        read_regular("/dev/zero")
    (package(tmp_path / "p") / "Resources").mkdir()
    (tmp_path / "p/Resources/zero").symlink_to("/dev/zero")
    (loaded,) = load_path(tmp_path / "p")
    with pytest.raises(Exception, match="leads out of the package"):
        loaded.resource("zero")


def test_a_file_that_grows_is_not_read_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    assert len(read_regular(tmp_path / "f", 11)) == 11
    with pytest.raises(PackageError, match="has 11 bytes; a file of a package has at most 10"):
        read_regular(tmp_path / "f", 10)
    os.truncate(tmp_path / "f", LARGEST_FILE + 1)
    with pytest.raises(PackageError, match="at most 67,108,864"):
        read_regular(tmp_path / "f")


@pytest.mark.attack("uploads", "L: pipes and sparse files")
def test_all_files_together_are_limited(tmp_path: Path) -> None:
    folder = package(tmp_path / "p")
    (folder / "Resources").mkdir()
    for number in range(LARGEST_TOTAL // LARGEST_FILE + 1):
        with (folder / f"Resources/{number}").open("ab") as file:
            file.truncate(LARGEST_FILE - number)
    with pytest.raises(PackageError, match="more than 268,435,456 bytes, its largest file is Resources/0"):
        build_archive(folder)


def test_too_many_files_are_refused_and_those_of_tools_are_not_counted(tmp_path: Path) -> None:
    folder = package(tmp_path / "p")
    for name in (".git", "many"):
        (folder / name).mkdir()
        (folder / name / "0").touch()
        for number in range(1, MOST_FILES):
            os.link(folder / name / "0", folder / name / str(number))
        if name == ".git":
            assert len(DirectoryTree(folder).paths()) == MOST_FILES + 2
    with pytest.raises(PackageError, match="more than 20,000 files"):
        DirectoryTree(folder).paths()


@pytest.mark.attack("uploads", "L: links")
def test_links_that_lead_round_or_out_are_refused(tmp_path: Path) -> None:
    folder = package(tmp_path / "p")
    (folder / "Resources").symlink_to(folder)
    with pytest.raises(PackageError, match="the link leads to no file"):
        build_archive(folder)
    (folder / "Resources").unlink()
    (folder / "Resources").symlink_to("Resources")
    with pytest.raises(PackageError):
        build_archive(folder)
    (folder / "Resources").unlink()
    (folder / "Classes/Main.yaml").unlink()
    (folder / "Classes/Main.yaml").symlink_to("/etc/hostname")
    with pytest.raises(PackageError):
        build_archive(folder)


def test_a_file_that_has_become_a_link_since_it_was_looked_at_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("own")
    mode = file.lstat().st_mode
    assert read_regular(file, mode=mode) == b"own"
    file.unlink()
    file.symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(file, mode=mode)
