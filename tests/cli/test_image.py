"""`vetro image`, without building one."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Vetro = Callable[..., Result]


@pytest.fixture(autouse=True)
def images(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the test's own."""
    monkeypatch.setenv("VETRO_IMAGES", str(here / "images"))
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
