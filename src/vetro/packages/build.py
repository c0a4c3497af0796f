"""Archives from folders: the same files give the same bytes, whoever packs them and when."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from zipfile import ZipFile

from vetro.data_classes import dataclass
from vetro.muranopl.declarations.versions import Version, parse_version
from vetro.muranopl.errors import DeclarationError
from vetro.packages.archive import add_file, archive_tree
from vetro.packages.checks.package import check_tree
from vetro.packages.directory import find_packages
from vetro.packages.errors import BuildError
from vetro.packages.files import DirectoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.manifest import Manifest, parse_manifest
from vetro.packages.paths import MANIFEST

if TYPE_CHECKING:
    pass

DEV = "dev"
_VERSION_FOLDER = re.compile(r"v?[0-9]+(\.[0-9]+){0,2}([-+][0-9A-Za-z.+-]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Built:
    """One archive that was written."""

    source: str
    path: str
    name: str
    version: Version


def archive_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Any files as such a ZIP, sorted by path."""
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for path, data in sorted(files):
            add_file(archive, path, data)
    return target.getvalue()


def build_archive(folder: str | os.PathLike[str], *, registry: FormatRegistry | None = None) -> bytes:
    """The package in ``folder`` as a deterministic ZIP.

    Raises `BuildError` listing everything that makes the package unusable (`vetro.packages.checks.package`).
    """
    return _build(os.path.abspath(folder), registry)[1]


def _build(folder: str, registry: FormatRegistry | None) -> tuple[Manifest, bytes]:
    tree = DirectoryTree(folder)
    if not tree.exists(MANIFEST):
        raise BuildError(f"{folder}: there is no {MANIFEST}", hint="name the folder of a package")
    _refuse_links(folder)
    errors = [p for p in check_tree(tree, registry=registry) if p.severity == "error"]
    if errors:
        listed = "".join(f"\n  {problem}" for problem in errors)
        raise BuildError(f"{folder}: the package cannot be built:{listed}", position=errors[0].place)
    return parse_manifest(tree.read(MANIFEST), tree.file_id(MANIFEST)), archive_tree(tree)


def _refuse_links(folder: str) -> None:
    """A link that is not followed would leave a file out silently."""
    tree = DirectoryTree(folder)
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            if os.path.islink(path) and not tree.exists(os.path.relpath(path, folder).replace(os.sep, "/")):
                raise BuildError(
                    f"{path}: the link leads to no file inside the package", hint="copy what it leads to instead"
                )


def build_tree(
    dirs: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    dev: bool = False,
    *,
    registry: FormatRegistry | None = None,
) -> list[Built]:
    """Writes one archive ``<name>.<version>.zip`` to ``out`` for every package in ``dirs``.

    A folder with a manifest is one package. Below other folders packages are looked for: of a versioned tree
    (``App/1.0.0``, ``App/dev``) each released folder is built, and ``dev`` only with ``dev`` (or when it is
    named itself). Everything is checked before the first file is written. Raises `BuildError`; also when a folder is
    named after another version than its manifest says, and when two folders give the same package and version.
    """
    built: dict[str, tuple[str, Manifest, bytes]] = {}
    for root in dirs:
        root = os.path.abspath(root)
        if not os.path.isdir(root):
            raise BuildError(f"{root}: no such folder")
        found = [p for p in find_packages(root) if dev or p == root or os.path.basename(p) != DEV]
        if not found:
            hint = "add --dev to build the folder 'dev'" if not dev and any(find_packages(root)) else None
            raise BuildError(f"{root}: there is no package to build", hint=hint)
        for folder in found:
            manifest, data = _build(folder, registry)
            _check_name(folder, manifest)
            target = f"{manifest.full_name}.{manifest.version}.zip"
            other = built.get(target)
            if other is not None and other[0] != folder:
                raise BuildError(f"{folder} and {other[0]} are both {manifest.full_name} {manifest.version}")
            built[target] = (folder, manifest, data)
    os.makedirs(out, exist_ok=True)
    result = []
    for target, (folder, manifest, data) in built.items():
        path = os.path.join(out, target)
        with open(path, "wb") as file:
            file.write(data)
        result.append(Built(folder, path, manifest.full_name, manifest.version))
    return result


def _check_name(folder: str, manifest: Manifest) -> None:
    name = os.path.basename(folder)
    if not _VERSION_FOLDER.fullmatch(name):
        return
    try:
        named = parse_version(name.removeprefix("v"))
    except DeclarationError:
        return
    if named != manifest.version:
        raise BuildError(
            f"{folder}: the folder says version {named}, its manifest {manifest.version}",
            position=manifest.positions.get("Version"),
            hint="rename the folder or mend Version in manifest.yaml",
        )
