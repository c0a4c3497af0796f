"""`vetro image`, without building one."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Vetro = Callable[..., Result]


@pytest.fixture(autouse=True)
def images(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the test's own."""
    monkeypatch.setenv("VETRO_IMAGES", str(here / "images"))
    monkeypatch.setenv("VETRO_WORKSPACE", str(here / "workspace"))
    with tarfile.open(here / "a.tar", "w") as tar:
        for name in ("usr/lib/systemd/systemd", "usr/bin/python3", "bin/sh"):
            tar.addfile(tarfile.TarInfo(f"./{name}"), io.BytesIO())
    return here / "images"


def test_import_list_remove(vetro: Vetro) -> None:
    empty = vetro("image", "list")
    assert empty.exit_code == 0 and "vetro image build debian-12" in empty.output
    made = vetro("image", "import", "a.tar", "--name", "mine", "--title", "Mine")
    assert made.exit_code == 0, made.output
    assert "mine  sha256:" in made.stdout and "unpacking" in made.stderr
    shown = vetro("image", "list", "--check", "-o", "json")
    (record,) = json.loads(shown.stdout)
    assert (record["name"], record["info"]["title"], record["origin"]) == ("mine", "Mine", "import of a.tar")
    assert "mine" in vetro("image", "list").stdout
    assert vetro("image", "remove", "mine").exit_code == 0
    assert json.loads(vetro("image", "list", "-o", "json").stdout) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("remove", "none"), "there is no image 'none'"),
        (("build", "debian-99"), "there is no recipe 'debian-99'"),
        (("import", "missing.tar", "--name", "x"), "there is no file missing.tar"),
    ],
)
def test_mistakes_are_named(vetro: Vetro, args: tuple[str, ...], message: str) -> None:
    done = vetro("image", *args)
    assert done.exit_code == 1
    assert message in done.stderr


def test_a_damaged_image_is_found(vetro: Vetro, images: Path) -> None:
    vetro("image", "import", "a.tar", "--name", "mine", "-q")
    (images / "mine/current/rootfs.tar").write_bytes(b"x")
    done = vetro("image", "list", "--check")
    assert done.exit_code == 1 and "another checksum" in done.stderr


def test_an_imported_image_is_offered_until_it_is_removed(vetro: Vetro) -> None:
    def listed() -> dict[str, Any]:
        return {row["name"]: row for row in json.loads(vetro("image", "list", "--cloud", "-o", "json").stdout)}

    before = listed()
    vetro("image", "import", "a.tar", "--name", "mine", "--title", "Mine", "-q")
    assert (listed()["mine"]["title"], listed()["mine"]["type"]) == ("Mine", "linux")
    vetro("image", "mark", "mine", "--title", "Ours", "--type", "linux.ours")
    assert listed()["mine"]["title"] == "Ours"
    vetro("image", "remove", "mine")
    assert listed() == before


def test_marks_of_the_workspaces_cloud(vetro: Vetro) -> None:
    listed = {row["name"]: row for row in json.loads(vetro("image", "list", "--cloud", "-o", "json").stdout)}
    assert (listed["debian-12-murano"]["title"], listed["debian-12-murano"]["type"]) == ("Debian 12", "linux")
    done = vetro("image", "mark", "debian-12-murano", "--title", "My Debian", "--type", "linux.mine")
    assert done.exit_code == 0 and "forms offer debian-12-murano as 'My Debian' (linux.mine)" in done.stderr
    assert "My Debian" in vetro("image", "list", "--cloud").stdout
    assert vetro("image", "unmark", listed["debian-12-murano"]["id"]).exit_code == 0
    after = json.loads(vetro("image", "list", "--cloud", "-o", "json").stdout)
    assert after[-1] == {**listed["debian-12-murano"], "marked": False, "title": None, "type": None}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("mark", "debian-13", "--title", "x", "--type", "y"), "there is no image 'debian-13'"),
        (("mark", "debian-12-murano", "--title", " ", "--type", "y"), "with a title and a type"),
        (("mark", "debian-12-murano", "--title", "Windows Server (recorded)", "--type", "y"), "has the title"),
        (("unmark", "debian-12-murano", "--region", "mars"), "has no region 'mars'"),
    ],
)
def test_marks_that_cannot_be(vetro: Vetro, args: tuple[str, ...], message: str) -> None:
    done = vetro("image", *args)
    assert done.exit_code == 1 and message in done.stderr, done.stderr


def test_marks_that_others_broke_are_shown_as_they_are(vetro: Vetro, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ['{"title": "half', "[1, 2]", '"text"', "5", "", "[" * 100_000]
    rows = [{"id": str(n), "name": f"i{n}", "murano_image_info": mark} for n, mark in enumerate(broken)]
    monkeypatch.setattr("vetro.clouds.stacks.listing.Listing.catalog", lambda *_: rows)
    done = vetro("image", "list", "--cloud", "-o", "json")
    assert done.exit_code == 0, done.stderr
    titles = {row["name"]: row["title"] for row in json.loads(done.stdout)}
    assert titles == {f"i{n}": mark or None for n, mark in enumerate(broken)}
