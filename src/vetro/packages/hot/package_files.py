"""A package made of nothing but a Heat template (PACKAGES 4, 8: what `--template` builds)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from vetro.packages.build import archive_files
from vetro.packages.errors import BuildError
from vetro.packages.manifest import parse_manifest
from vetro.packages.paths import MANIFEST
from vetro.packages.pictures import check_picture
from vetro.packages.regular import read_regular
from vetro.packages.yamltree import TreeError, plain, read_documents

FORMAT = "Heat.HOT/1.0"
NAMESPACE = "io.murano.apps.generated"
#: Folders beside the template that a HOT package carries below ``Resources``.
FOLDERS = ("HotFiles", "HotEnvironments")


def title_cased(name: str) -> str:
    """``my-web server`` -> ``MyWebServer``: a name for a class. Raises `BuildError` when nothing is left."""
    words = re.findall(r"[A-Za-z0-9_]+", name)
    result = "".join(word[0].upper() + word[1:] for word in words)
    if not result or result[0].isdigit():
        raise BuildError(f"'{name}' gives no class name", hint="choose a name that begins with a letter")
    return result


def build_template(
    template: str | os.PathLike[str],
    *,
    name: str | None = None,
    full_name: str | None = None,
    version: str | None = None,
    description: str | None = None,
    author: str | None = None,
    tags: Sequence[str] = ("Heat-generated",),
    logo: str | os.PathLike[str] | None = None,
    resources: str | os.PathLike[str] | None = None,
) -> bytes:
    """A deterministic archive of format Heat.HOT with this template.

    ``name`` defaults to the file's name, ``full_name`` to ``io.murano.apps.generated.<TitleCasedName>``,
    ``description`` to the template's. ``resources`` is a folder that may hold ``HotFiles`` and ``HotEnvironments``.
    Raises `BuildError`.
    """
    path = os.fspath(template)
    text = _read(path)
    data = _template(text, path)
    shown = name or os.path.splitext(os.path.basename(path))[0]
    manifest: dict[str, Any] = {
        "Format": FORMAT,
        "Type": "Application",
        "FullName": full_name or f"{NAMESPACE}.{title_cased(shown)}",
        "Name": shown,
        "Description": description or str(data.get("description") or f"Made from the Heat template {shown}").strip(),
    }
    if version:
        manifest["Version"] = version
    if author:
        manifest["Author"] = author
    manifest["Tags"] = list(tags)
    files = {"template.yaml": text}
    if logo is not None:
        files["logo.png"] = _read(os.fspath(logo))
        check_picture(files["logo.png"], os.fspath(logo))
    if resources is not None:
        files.update(_resources(os.fspath(resources)))

    files[MANIFEST] = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True).encode()
    parse_manifest(files[MANIFEST], MANIFEST)  # names and version are the caller's: refuse malformed ones here
    return archive_files(files.items())


def _read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise BuildError(f"{path}: {error.strerror}") from None


def _template(text: bytes, path: str) -> Mapping[str, Any]:
    try:
        documents = read_documents(text, path)
        data = plain(documents[0]) if documents else None
    except TreeError as error:
        raise BuildError(f"{error.position}: {error.message}", position=error.position, hint=error.hint) from None
    if not isinstance(data, dict) or "resources" not in data:
        raise BuildError(f"{path}: no Heat template: it has no 'resources'")
    return data


def _resources(folder: str) -> dict[str, bytes]:
    if not os.path.isdir(folder):
        raise BuildError(f"{folder}: no such folder")
    files: dict[str, bytes] = {}
    for kind in FOLDERS:
        for parent, _, names in os.walk(os.path.join(folder, kind)):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.islink(path):
                    raise BuildError(f"{path}: links are not packed", hint="copy the file instead")
                inner = os.path.relpath(path, folder).replace(os.sep, "/")
                files[f"Resources/{inner}"] = _read(path)
    return files
