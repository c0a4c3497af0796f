"""Where images are kept and how servers find theirs.

``FOLDER/NAME/VERSION/`` holds ``manifest.json``, ``rootfs.tar`` (as built or imported), ``shifted`` (the tree that
nspawn servers lie over; made as root) and ``plain`` (the tree of proot servers; made when first wanted).
``NAME/current`` points to the version that new servers get; older ones stay as long as servers use them, and the newest
of those that none uses: a server that is being made may just have chosen it. A version appears by one rename: a killed
build leaves a ``.new-`` folder, which the next one removes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vetro import file_lock
from vetro.clouds.drivers.errors import HostFailed, ImageBusy, ImageDamaged, ImageMissing
from vetro.clouds.drivers.tools import run
from vetro.clouds.images import shift
from vetro.clouds.images.recipe import DEFAULT
from vetro.data_classes import dataclass

#: Versions of an image that are kept besides the current one although no server uses them.
KEPT = 1
#: Told what is done now.
Progress = Callable[[str], None]


def default_folder() -> Path:
    """VETRO_IMAGES, or where this user keeps data."""
    given = os.environ.get("VETRO_IMAGES")
    if given:
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/lib/vetro/images")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "vetro" / "images"


@dataclass(frozen=True, slots=True)
class Image:
    """One version of an image."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]

    @property
    def shifted(self) -> Path:
        """The tree whose owners are moved into the range of guests."""
        return self.folder / "shifted"

    @property
    def tar(self) -> Path:
        """The tree as an archive, owners as in the guest."""
        return self.folder / "rootfs.tar"

    @property
    def uid(self) -> int:
        """Owner of the guest's root in `shifted`."""
        return int(self.manifest["uid_base"])

    @property
    def checksum(self) -> str:
        """SHA-256 of the archive."""
        return str(self.manifest["sha256"])

    def record(self) -> dict[str, Any]:
        """What a catalog of images says about it."""
        return {
            "name": self.name,
            "version": self.folder.name,
            "serves": list(self.manifest["serves"]),
            "info": dict(self.manifest["info"]),
            "bytes": int(self.manifest["bytes"]),
            "sha256": self.checksum,
            "built": float(self.manifest["built"]),
            "origin": str(self.manifest["origin"]),
        }


class ImageStore:
    """The images of this machine. Any number of processes may use one store."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else default_folder()

    def list(self) -> list[Image]:
        """All images that servers can start from, by name."""
        if not self.folder.is_dir():
            return []
        found = [self._read(path.name) for path in sorted(self.folder.iterdir()) if not path.name.startswith(".")]
        return [image for image in found if image is not None]

    def names(self) -> frozenset[str]:
        """What images of this machine are called, without reading them."""
        return frozenset(path.parent.name for path in self.folder.glob("[!.]*/current"))

    def get(self, name: str) -> Image:
        """The image of this name. Raises `ImageMissing`."""
        image = self._read(name) if _good(name) else None
        if image is None:
            error = ImageMissing(f"there is no image '{name}' in {self.folder}")
            error.hint = f"make it: vetro image build {name if name == DEFAULT else DEFAULT}"
            raise error
        return image

    def find(self, record: Mapping[str, Any]) -> Image:
        """The image for a record of the cloud's catalog: of its own name, or one that serves that name.

        Other Linux images get the default one. Raises `ImageMissing`, also for what is no plain Linux.
        """
        name = str(record.get("name", ""))
        images = self.list()
        for image in images:
            if image.name == name:
                return image
        for image in images:
            if name in image.manifest["serves"]:
                return image
        kind = _kind(record)
        if kind != "linux":
            error = ImageMissing(f"the image '{name}' is of type '{kind}', which this machine cannot run")
            error.hint = "deploy with the driver 'record', which runs nothing and records everything"
            raise error
        return self.get(DEFAULT)

    def remove(self, name: str) -> None:
        """Removes an image with all versions. Raises `ImageMissing`, `ImageBusy` while servers use it."""
        if not _good(name) or not (self.folder / name).is_dir():
            raise ImageMissing(f"there is no image '{name}' in {self.folder}")
        with self.locked(name):
            home = self.folder / name
            users = [user for version in _versions(home) for user in users_of(version)]
            if users:
                error = ImageBusy(f"{len(users)} server(s) use the image '{name}': {', '.join(sorted(users)[:3])}")
                error.hint = "destroy their environments first"
                raise error
            gone = self.folder / f".new-{name}-{os.getpid()}-gone"
            home.rename(gone)
            delete_tree(gone)

    def verify(self, image: Image) -> None:
        """Raises `ImageDamaged` when the archive is not what was stored."""
        if file_digest(image.tar) != image.checksum:
            error = ImageDamaged(f"the archive of the image '{image.name}' ({image.tar}) has another checksum")
            error.hint = f"make it anew: vetro image build {image.name} --again"
            raise error

    def plain(self, image: Image, progress: Progress = lambda text: None) -> Path:
        """The tree with owners as in the guest (or all of this user), made when first wanted."""
        tree = image.folder / "plain"
        if not tree.is_dir():
            with self.locked(image.name):
                if not tree.is_dir():
                    progress("unpacking")
                    fresh = image.folder / ".plain"
                    delete_tree(fresh)
                    unpack(image.tar, fresh)
                    fresh.rename(tree)
        return tree

    def add(self, name: str, build: Callable[[Path], Mapping[str, Any]], progress: Progress) -> Image:
        """Adds a version: ``build`` writes ``rootfs.tar`` into the folder it gets and gives parts of the manifest.

        The caller holds `locked`. Raises what ``build`` raises, and `ImageDamaged` for a tree that cannot boot.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        for left in self.folder.glob(f".new-{name}-*"):
            delete_tree(left)
        fresh = self.folder / f".new-{name}-{os.getpid()}"
        fresh.mkdir(mode=0o711)
        try:
            facts = build(fresh)
            progress("computing its checksum")
            sha = file_digest(fresh / "rootfs.tar")
            target = "shifted" if os.geteuid() == 0 else "plain"
            progress("unpacking")
            unpack(fresh / "rootfs.tar", fresh / target)
            check_tree(name, fresh / target)
            if target == "shifted":
                progress("moving its owners into the range of servers")
                shift.shift(str(fresh / target))
            manifest = {
                "name": name,
                "sha256": sha,
                "bytes": (fresh / "rootfs.tar").stat().st_size,
                "uid_base": shift.BASE,
                "built": time.time(),
                **facts,
            }
            (fresh / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True), "utf-8")
            home = self.folder / name
            home.mkdir(exist_ok=True, mode=0o711)
            version = home / f"{sha[:12]}-{int(manifest['built'] * 1000):x}"
            os.sync()
            fresh.rename(version)
        except BaseException:
            delete_tree(fresh)
            raise
        link = home / ".current"
        link.unlink(missing_ok=True)
        link.symlink_to(version.name)
        link.replace(home / "current")
        _drop_unused(home)
        return self.get(name)

    def tidy(self) -> None:
        """Removes versions that no server uses any more. One that somebody builds or changes is left to them."""
        for home in self.folder.iterdir() if self.folder.is_dir() else ():
            if not _good(home.name) or len(_versions(home)) <= 1 + KEPT:
                continue
            with suppress(BlockingIOError), self.locked(home.name, wait=False):
                _drop_unused(home)

    @contextmanager
    def locked(self, name: str, *, wait: bool = True) -> Iterator[None]:
        """One process at a time changes an image; the others ``wait``. Raises `ImageDamaged` for a bad name, and
        BlockingIOError where one has it that is not waited for."""
        if not _good(name):
            raise ImageDamaged(f"'{name}' is no name of an image: use letters, digits, dots, hyphens and underscores")
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        with file_lock.exclusive(self.folder / f".lock-{name}", wait=wait):
            yield

    def _read(self, name: str) -> Image | None:
        home = self.folder / name
        try:
            version = home / os.readlink(home / "current")
            manifest = json.loads((version / "manifest.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return Image(name, version, manifest)


def use(image: Image, server: Path) -> None:
    """Notes that the server kept in this folder needs the image."""
    folder = image.folder / "used-by"
    folder.mkdir(exist_ok=True)
    mark = folder / hashlib.sha256(os.fsencode(server)).hexdigest()[:24]
    mark.write_text(str(server), "utf-8")


def users_of(version: Path) -> list[str]:
    """Folders of the servers that need this version; marks of servers that are gone are removed."""
    found: list[str] = []
    folder = version / "used-by"
    for mark in sorted(folder.iterdir()) if folder.is_dir() else ():
        server = mark.read_text("utf-8")
        if os.path.isdir(server):
            found.append(server)
        else:
            mark.unlink(missing_ok=True)
    return found


def unpack(tar: Path, target: Path) -> None:
    """Unpacks an archive of a system. Raises `ImageDamaged`. Device files are left out: no guest needs any from it."""
    target.mkdir(mode=0o755)
    owners = ["--numeric-owner", "--same-owner"] if os.geteuid() == 0 else ["--no-same-owner"]
    words = ["tar", "-xpf", str(tar), "-C", str(target), *owners, "--xattrs", "--xattrs-include=security.capability"]
    try:
        run([*words, "--exclude=./dev/*", "--exclude=dev/*", "--delay-directory-restore"], timeout=1800)
    except HostFailed as error:
        raise ImageDamaged(f"{tar} cannot be unpacked: {error.message}") from None
    (target / "dev").mkdir(exist_ok=True)
    for folder, _, files in os.walk(target):
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
                os.unlink(path)


def check_tree(name: str, tree: Path) -> None:
    """Raises `ImageDamaged` for a tree without the parts that a server needs."""
    needed = {
        "an init system (systemd)": ("usr/lib/systemd/systemd", "lib/systemd/systemd"),
        "Python 3": ("usr/bin/python3",),
        "a shell": ("bin/sh", "usr/bin/sh"),
    }
    for what, places in needed.items():
        if not any(os.path.lexists(tree / place) for place in places):
            error = ImageDamaged(f"the image '{name}' has no {what}: none of {', '.join('/' + p for p in places)}")
            error.hint = "servers start with systemd and their boot helper needs Python 3: add the packages"
            raise error


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def delete_tree(path: Path) -> None:
    """Removes a folder with all it holds; nothing when there is none."""

    def unlock(function: Any, place: str, _: Any) -> None:
        # Folders without write permission, as an ordinary user finds them in a system's tree.
        parent = os.path.dirname(place)
        for each in (parent, place):
            if not os.path.islink(each) and os.path.isdir(each):
                os.chmod(each, 0o700)
        if os.path.lexists(place):
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place)
            else:
                os.unlink(place)

    if os.path.lexists(path):
        shutil.rmtree(path, onerror=unlock)


def _kind(record: Mapping[str, Any]) -> str:
    info: Any = (record.get("properties") or {}).get("murano_image_info") or record.get("murano_image_info")
    if isinstance(info, str):
        try:
            info = json.loads(info)
        except ValueError:
            info = None
    return str(info.get("type", "linux")) if isinstance(info, Mapping) else "linux"


def _drop_unused(home: Path) -> None:
    """Removes the versions of an image that no server uses, but for the current one and the newest `KEPT`."""
    current = os.path.realpath(home / "current")
    unused = [one for one in _versions(home) if os.path.realpath(one) != current and not users_of(one)]
    unused.sort(key=lambda one: (one / "manifest.json").stat().st_mtime_ns, reverse=True)
    for old in unused[KEPT:]:
        delete_tree(old)


def _versions(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return [path for path in sorted(home.iterdir()) if path.is_dir() and not path.is_symlink() and path.name[0] != "."]


def _good(name: str) -> bool:
    return bool(name) and name[0].isalnum() and all(c.isalnum() or c in ".-_" for c in name) and len(name) <= 64
