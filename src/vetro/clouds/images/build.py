"""Building images with mmdebstrap and taking over archives made elsewhere."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tarfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.errors import ImageBuildFailed, ImageDamaged, ImageMissing
from vetro.clouds.drivers.tools import environment, which
from vetro.clouds.images import sources
from vetro.clouds.images.compat import build_packages
from vetro.clouds.images.recipe import (
    COMPAT_FOLDER,
    FILES,
    MASKED,
    PACKAGES,
    RECIPES,
    TRANSITIONAL,
    Recipe,
)
from vetro.clouds.images.store import Image, ImageStore, Progress

#: Seconds after which a build is given up.
LONGEST_BUILD = 3600
_FETCH = "apt-get -q -y --no-install-recommends --download-only install --"
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
#: Steps of mmdebstrap that a person wants to know of.
_STEPS = ("running apt-get", "downloading", "extracting", "installing", "creating")


def build(
    store: ImageStore,
    name: str = "debian-12",
    *,
    again: bool = False,
    ready: Sequence[str] = (),
    progress: Progress = lambda text: None,
    log: Progress = lambda line: None,
) -> Image:
    """Builds an image, or gives the one that the same recipe made before (unless ``again``).

    ``ready``: packages that servers install without the mirror. They lie in the image as files, with what they depend
    on; nothing of them is installed, so servers are as they are without. ``log`` gets each line that the programs say.

    Raises `ImageMissing` for an unknown recipe, `ImageBuildFailed` with the end of what the build said.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise ImageMissing(f"there is no recipe '{name}'; there are: {', '.join(sorted(RECIPES))}")
    wrong = [word for word in ready if not _PACKAGE.fullmatch(word)]
    if wrong:
        raise ImageBuildFailed(f"'{wrong[0]}' is no name of a Debian package")
    key = recipe.checksum(platform.machine())
    with store.locked(name):
        for image in store.list():
            same = image.name == name and image.manifest.get("recipe") == key
            if same and not again and set(ready) <= set(image.manifest.get("ready") or ()):
                return image
        if which("mmdebstrap") is None:
            error = ImageBuildFailed("this machine has no 'mmdebstrap', which builds images")
            error.hint = "install it (apt-get install mmdebstrap), or take an archive: vetro image import FILE"
            raise error

        def make(folder: Path) -> Mapping[str, Any]:
            _bootstrap(recipe, folder, ready, progress, log)
            facts = {"recipe": key, "serves": list(recipe.serves), "info": dict(recipe.info), "origin": "recipe"}
            return {**facts, "ready": sorted(ready)} if ready else facts

        return store.add(name, make, progress)


def import_archive(
    store: ImageStore, archive: Path, name: str, *, title: str | None = None, progress: Progress = lambda text: None
) -> Image:
    """Takes a tar archive of a root file system (any compression that tar knows) as an image.

    Raises `ImageDamaged` when it is no such archive or lacks systemd or Python.
    """
    if not archive.is_file():
        raise ImageDamaged(f"there is no file {archive}")
    recipe = RECIPES.get(name)
    serves = list(recipe.serves) if recipe else [name]

    def make(folder: Path) -> Mapping[str, Any]:
        progress("copying the archive")
        shutil.copyfile(archive, folder / "rootfs.tar")
        try:
            with tarfile.open(folder / "rootfs.tar") as file:
                file.next()
        except (tarfile.TarError, EOFError, OSError) as error:
            if archive.suffix not in (".zst", ".lz4"):  # tar knows more compressions than Python does
                raise ImageDamaged(f"{archive} is no tar archive: {error}") from None
        info = {"title": title or name, "type": "linux"}
        return {"recipe": None, "serves": serves, "info": info, "origin": f"import of {archive.name}"}

    with store.locked(name):
        return store.add(name, make, progress)


def _bootstrap(recipe: Recipe, folder: Path, ready: Sequence[str], progress: Progress, log: Progress) -> None:
    tree = folder / "extra"
    entries = sources.apt_sources(recipe.suite)
    _extra_files(tree, entries)
    listed = folder / "vetro-host.sources"
    listed.write_text(entries, "utf-8")
    argv = [
        "mmdebstrap",
        "--variant=minbase",
        "--format=tar",
        "--include=" + ",".join(PACKAGES),
        "--aptopt=APT::Install-Recommends \"false\"",
        "--skip=cleanup/apt/lists",
        *(["--skip=cleanup/apt/cache"] * bool(ready)),
        *(f"--aptopt={line}" for line in sources.apt_settings().splitlines()),
        'rm -f "$1"/etc/apt/sources.list.d/0000*',
        f"sync-in {tree} /",
        'chown -R 0:0 "$1/usr/share/vetro" "$1/etc/apt" "$1/etc/sudoers.d"',
        'chroot "$1" apt-get -q update',
        *([f'chroot "$1" {_FETCH} {" ".join(ready)}'] * bool(ready)),
        f'chroot "$1" systemctl mask {" ".join(MASKED)}',
        'ln -sf python3 "$1/usr/bin/python"; rm -f "$1/etc/machine-id" "$1/etc/resolv.conf" "$1/etc/hostname"; '
        ': > "$1/etc/machine-id"',
        recipe.suite,
        str(folder / "rootfs.tar"),
        str(listed),
    ]  # fmt: skip
    argv = [f"--customize-hook={word}" if word.startswith(("rm ", "sync-in", "ch", "ln ")) else word for word in argv]
    progress("fetching packages")
    work = folder / "work"  # what a killed build leaves is removed together with its folder
    work.mkdir(mode=0o711)
    _follow(argv, work, progress, log)
    work.rmdir()
    listed.unlink()
    shutil.rmtree(tree)


def _extra_files(tree: Path, entries: str) -> None:
    files = {**FILES, "/etc/apt/sources.list.d/vetro-host.sources": (0o644, entries)}
    for path, (mode, text) in files.items():
        place = tree / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        place.chmod(mode)
    for key in sources.keyrings(entries):
        place = tree / str(key).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(key, place)
    build_packages(tree / COMPAT_FOLDER.lstrip("/"), TRANSITIONAL)
    for folder in [tree, *(path for path in tree.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)


def _follow(argv: list[str], work: Path, progress: Progress, log: Progress) -> None:
    """Runs the build, tells its steps, keeps the end of what it says for the error.

    All its processes end with this one, however it ends: nobody writes into a folder that the next build removes.
    """
    if os.geteuid() == 0:
        argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *argv]
    last: deque[str] = deque(maxlen=15)
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**environment(), "TMPDIR": str(work)},
        start_new_session=True,
    )
    assert child.stdout is not None
    guard = threading.Timer(LONGEST_BUILD, child.kill)
    guard.start()
    try:
        for line in child.stdout:
            line = line.strip()
            if line:
                last.append(line)
                log(line)
            step = re.match(r"I: (.+?)(\.\.\.)?$", line)
            if line.startswith("I: running --customize-hook"):
                progress("setting it up")
            elif step and step[1].startswith(_STEPS):
                progress(step[1])
        status = child.wait()
    except BaseException:
        run_down(child)
        raise
    finally:
        guard.cancel()
        child.stdout.close()
    if status != 0:
        error = ImageBuildFailed(f"mmdebstrap ended with status {status}:\n" + "\n".join(last))
        error.hint = "often the package mirror cannot be reached: try 'apt-get update' on this machine"
        raise error


def run_down(child: subprocess.Popen[str]) -> None:
    """Ends a build in order, so that it removes its own folders and mounts."""
    child.terminate()
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
