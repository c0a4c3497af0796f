"""Layers of a disk that are merged show what they showed before, also when that is broken off."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fuzzing import EVERYTHING
from tests.support.needs import need
from vetro.clouds.nspawn import layers

_NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def _root() -> None:
    need("overlays are mounted by root" if os.geteuid() != 0 else None)


class Overlay:
    """An image with layers above it; what is written goes to the topmost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.image, self.root = folder / "image", folder / "root"
        self.layers: list[Path] = []
        for path in (self.image, self.root):
            path.mkdir(parents=True)
        self.add()

    def add(self) -> None:
        self.layers.append(self.folder / f"layer{len(self.layers)}")
        self.layers[-1].mkdir()

    def mounted(self) -> Iterator[Path]:
        """With the last layer to be written to."""
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        there = [path for path in self.layers if path.exists()]
        lower = ":".join(str(path) for path in [*there[-2::-1], self.image])
        options = f"lowerdir={lower},upperdir={there[-1]},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(self.root)], check=True)
        try:
            yield self.root
        finally:
            subprocess.run(["umount", str(self.root)], check=True)


def content(overlay: Overlay) -> dict[str, tuple[object, ...]]:
    """All that an overlay shows: kinds, modes, owners, contents, attributes."""
    found: dict[str, tuple[object, ...]] = {}
    for root in overlay.mounted():
        for at, folders, files in os.walk(root):
            for name in [*folders, *files]:
                path = Path(at, name)
                facts = path.lstat()
                data = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
                names = os.listxattr(path, follow_symlinks=False)
                known = tuple((one, os.getxattr(path, one, follow_symlinks=False)) for one in sorted(names))
                found[str(path.relative_to(root))] = (facts.st_mode, facts.st_uid, facts.st_gid, data, known)
    return found


def scramble(root: Path, chance: random.Random, steps: int) -> None:
    """Files, links and directories come, change, become each other and go."""
    for _ in range(steps):
        path = root.joinpath(*chance.choices(_NAMES, k=chance.randint(1, 3)))
        what = chance.choice(("file", "folder", "link", "remove", "mode", "again"))
        if not path.parent.is_dir() or path.parent.is_symlink():
            continue
        if what in ("remove", "again") and os.path.lexists(path):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if what == "again" and not os.path.lexists(path):
            path.mkdir()
            (path / "inner").write_bytes(chance.randbytes(8))
        elif what == "mode" and path.exists() and not path.is_symlink():
            path.chmod(chance.choice((0o700, 0o755)))
            os.chown(path, chance.randint(0, 9), chance.randint(0, 9))
            os.setxattr(path, "user.vetro", chance.randbytes(4))
        elif not os.path.lexists(path):
            if what == "folder":
                path.mkdir()
            elif what == "link":
                path.symlink_to(chance.choice(("/etc/passwd", "../a", "b")))
            elif what == "file":
                path.write_bytes(chance.randbytes(8))


class Broken(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("seed", range(400 if EVERYTHING else 13))
def test_merged_layers_show_the_same(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    overlay = Overlay(tmp_path)
    scramble(overlay.image, chance, 40)
    for _ in range(4):
        for root in overlay.mounted():
            scramble(root, chance, 25)
        overlay.add()
    before = content(overlay)
    bottom, *others, _top = overlay.layers
    breaks = [chance.randint(0, 6) for _ in range(3)]
    for _ in range(20):
        with monkeypatch.context() as patch:
            for name in ("rename", "replace", "rmdir"):  # the steps that change something

                def step(*args: object, real: object = getattr(os, name), **more: object) -> object:
                    if breaks:
                        breaks[0] -= 1
                        if breaks[0] < 0:
                            breaks.pop(0)
                            raise Broken
                    return real(*args, **more)  # type: ignore[operator]

                patch.setattr(layers.os, name, step)
            try:
                for layer in others:
                    layers.merge(str(overlay.image), str(bottom), str(layer))
                break
            except Broken:
                pass
        assert content(overlay) == before, "broken off"
    assert content(overlay) == before
    assert [path.exists() for path in overlay.layers] == [True, False, False, False, True]


def test_deep_trees_and_links_lead_nowhere(tmp_path: Path) -> None:
    """What a server's root leaves in its disk moves nothing of this machine, and takes no more than an error."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    image, below, above = (tmp_path / name for name in ("image", "below", "above"))
    image.mkdir()
    below.mkdir()
    (above / "folder").mkdir(parents=True)
    (above / "folder" / "kept").write_text("changed")
    (below / "folder").symlink_to(outside)
    layers.merge(str(image), str(below), str(above))
    assert (outside / "kept").read_text() == "kept" and (below / "folder" / "kept").read_text() == "changed"
    for side in (below, above):
        side.mkdir(exist_ok=True)
        at = os.open(side, os.O_RDONLY)
        for _ in range(60):
            os.mkdir("n" * 200, dir_fd=at)
            inner = os.open("n" * 200, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = inner
        os.close(at)
    with pytest.raises(OSError, match="too long"):
        layers.merge(str(image), str(below), str(above))
    subprocess.run(["rm", "-rf", str(below), str(above)], check=True)


def test_the_sum_is_that_of_a_real_file(tmp_path: Path) -> None:
    """A file that only its layer has goes down as it is: it is moved, not copied."""
    image, below, above = (tmp_path / name for name in ("image", "below", "above"))
    for side in (image, below, above):
        side.mkdir()
    (above / "file").write_bytes(b"x" * 100_000)
    number, digest = (above / "file").stat().st_ino, hashlib.sha256((above / "file").read_bytes()).digest()
    layers.merge(str(image), str(below), str(above))
    assert (below / "file").stat().st_ino == number
    assert hashlib.sha256((below / "file").read_bytes()).digest() == digest
