"""Imports from elsewhere: an address, a repository (PACKAGES 8), a bundle, a folder of this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urljoin

import yaml

from vetro.packages.errors import PackageError
from vetro.server.caller import Caller
from vetro.server.catalog.choose import packages_for
from vetro.server.catalog.examining import read_archive
from vetro.server.catalog.fetching import FetchFailed, Source, fetch
from vetro.server.catalog.importing import ImportResult, import_packages
from vetro.server.errors import Forbidden, Invalid

#: Packages of one import from elsewhere, and bytes of a bundle file.
MOST = 200
BUNDLE = 1 << 20
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def import_url(caller: Caller, url: str, **options: Any) -> ImportResult:
    """Imports the package behind an address. Raises like `fetch` and `import_packages`."""
    return import_packages(caller, [fetch(url)], **options)


def import_repository(
    caller: Caller, base: str, names: Iterable[str | tuple[str, str]], **options: Any
) -> ImportResult:
    """Imports packages from a repository by name, or (name, version), with what they require and the catalog lacks.

    ``base``: the address of a repository: ``BASE/apps/<name>[.<version>].zip``. All of them or none; what is there
    already is left alone. Raises `Invalid`, and like `fetch` and `import_packages`.
    """
    wanted = [(n, "") if isinstance(n, str) else n for n in names]
    return import_packages(caller, _collect(caller, base, wanted), **{"skip_existing": True, **options})


def import_bundle(caller: Caller, url: str, **options: Any) -> tuple[ImportResult, list[str]]:
    """Imports what a bundle file lists (JSON or YAML, ``Packages: [{Name, Version?, Url?}]``), and what that requires.

    ``url``: the bundle, usually ``BASE/bundles/<name>.bundle`` of a repository, whose packages are taken. Entries
    without a name and those that cannot be fetched are skipped (PACKAGES 8); the second value says which and why. What
    was fetched is one import. Raises like `import_repository`.
    """
    entries = read_bundle(fetch(url, Source.configured(BUNDLE)))
    base = urljoin(url, "../")
    archives: list[bytes] = []
    notes: list[str] = []
    named: list[tuple[str, str]] = []
    for entry in entries:
        name, version, place = entry["name"], entry["version"], entry["url"]
        if not name:
            notes.append("an entry without Name is skipped")
            continue
        try:
            if place:
                archives.append(fetch(urljoin(base, place)))
            else:
                fetch_named(base, name, version)
                named.append((name, version))
        except (FetchFailed, Invalid) as error:
            notes.append(f"{name} is skipped: {error.message}")
    archives += _collect(caller, base, named, archives)
    return import_packages(caller, archives, **{"skip_existing": True, **options}), notes


def import_folder(caller: Caller, path: str, **options: Any) -> ImportResult:
    """Imports every package in a folder of this machine, archives and folders alike; administrators only.

    Raises `Forbidden`, `Invalid`, and like `import_packages`.
    """
    from vetro.packages.check_all import package_paths
    from vetro.packages.load import open_package

    if not caller.is_admin:
        raise Forbidden("Only administrators import from folders of the server.")
    try:
        archives = [_archive(place) or open_package(place).blob for place in package_paths(path)]
    except (PackageError, OSError) as error:
        raise Invalid(f"'{path}' cannot be imported: {getattr(error, 'message', error)}") from None
    if not archives:
        raise Invalid(f"there is no package in '{path}'")
    return import_packages(caller, archives, **{"skip_existing": True, **options})


def _archive(path: str) -> bytes | None:
    if not path.endswith(".zip"):
        return None
    with open(path, "rb") as file:
        return file.read()


def read_bundle(data: bytes) -> list[dict[str, str]]:
    """The entries of a bundle: [{name, version, url}], '' for what is not given. Raises `Invalid`."""
    try:
        parsed = json.loads(data)
    except ValueError:
        try:
            parsed = yaml.safe_load(data) if b"&" not in data else None  # no aliases: a bundle is a plain list
        except (yaml.YAMLError, RecursionError):
            parsed = None
    entries = parsed.get("Packages") if isinstance(parsed, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
        raise Invalid("the bundle has to be a mapping with a list 'Packages' of {Name, Version, Url}")
    if len(entries) > MOST:
        raise Invalid(f"the bundle lists more than {MOST} packages")
    return [{k: str(e.get(k.capitalize()) or "") for k in ("name", "version", "url")} for e in entries]


def fetch_named(base: str, name: str, version: str = "") -> bytes:
    """A package of a repository. Raises `Invalid` for a name that is a path, and like `fetch`."""
    if not _NAME.fullmatch(name) or (version and not re.fullmatch(r"[\w.+-]+", version)):
        raise Invalid(f"'{name[:80]}' {version[:40]} is no name and version of a package in a repository")
    file = f"{name}.{version}.zip" if version else f"{name}.zip"
    return fetch(urljoin(base if base.endswith("/") else base + "/", f"apps/{quote(file)}"))


def _collect(caller: Caller, base: str, wanted: list[tuple[str, str]], given: Iterable[bytes] = ()) -> list[bytes]:
    """The archives of these packages and of what they and ``given`` require, as far as the catalog lacks it."""
    archives: list[bytes] = []
    seen: set[str] = set()
    asked = [*wanted]
    for data in given:
        asked += _lacking(caller, data, seen)
    while asked:
        name, version = asked.pop()
        if name in seen and not version:
            continue
        seen.add(name)
        if len(archives) >= MOST:
            raise Invalid(f"these are more than {MOST} packages at once")
        data = fetch_named(base, name, version)
        archives.append(data)
        asked += _lacking(caller, data, seen)
    return archives


def _lacking(caller: Caller, data: bytes, seen: set[str]) -> list[tuple[str, str]]:
    """Names that a package requires and the catalog has in no fitting version."""
    facts, _ = read_archive(caller.project_id, data, "package.zip", strict=False)
    seen.add(facts["fqn"])
    found = []
    for name, spec in facts["required"].items():
        if name in seen or name in facts["plugins"]:
            continue
        try:
            packages_for(caller, [(name, spec or "0")])
        except Invalid:
            found.append((name, ""))
    return found
