"""Imports from elsewhere: an address, a repository (PACKAGES 8), a bundle, a folder of this machine."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urljoin

from vetro.diagnostics import Text
from vetro.packages.yamltree import TreeError, plain, read_documents
from vetro.server.caller import Caller
from vetro.server.catalog.dependencies import packages_for
from vetro.server.catalog.downloads import FetchFailed, Source, fetch
from vetro.server.catalog.imports import ImportResult, import_packages
from vetro.server.catalog.inspection.client import read_archive
from vetro.server.errors import Invalid
from vetro.server.requests.slow_requests import holding

#: Packages of one import from elsewhere, their bytes together, and bytes of a bundle file.
MOST = 200
MOST_BYTES = 128 << 20
BUNDLE = 1 << 20
#: How long all downloads of one import may take, as a multiple of what one may take: they hold a thread of the server.
PATIENCE = 4
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")


@holding
def import_url(caller: Caller, url: str, **options: Any) -> ImportResult:
    """Imports the package behind an address. Raises like `fetch` and `import_packages`."""
    return import_packages(caller, [fetch(url)], **options)


@holding
def import_repository(
    caller: Caller, base: str, names: Iterable[str | tuple[str, str]], **options: Any
) -> ImportResult:
    """Imports packages from a repository by name, or (name, version), with what they require and the catalog lacks.

    ``base``: the address of a repository: ``BASE/apps/<name>[.<version>].zip``. All of them or none; what is there
    already is left alone. Raises `Invalid`, and like `fetch` and `import_packages`.
    """
    wanted = [(n, "") if isinstance(n, str) else n for n in names]
    basket = _Basket()
    _collect(caller, base, wanted, basket, set())
    return import_packages(caller, basket.archives, **{"skip_existing": True, **options})


@holding
def import_bundle(caller: Caller, url: str, **options: Any) -> tuple[ImportResult, list[str]]:
    """Imports what a bundle file lists (JSON or YAML, ``Packages: [{Name, Version?, Url?}]``), and what that requires.

    ``url``: the bundle, usually ``BASE/bundles/<name>.bundle`` of a repository, whose packages are taken. Entries
    without a name and those that cannot be fetched are skipped (PACKAGES 8); the second value says which and why. What
    was fetched is one import. Raises like `import_repository`.
    """
    entries = read_bundle(fetch(url, Source.configured(BUNDLE)))
    base = urljoin(url, "../")
    basket = _Basket()
    notes: list[str] = []
    named: list[tuple[str, str]] = []
    for entry in entries:
        name, version, place = entry["name"], entry["version"], entry["url"]
        if not name:
            notes.append("an entry without Name is skipped")
            continue
        try:
            if place:
                basket.add(urljoin(base, place))
            elif (name, version) not in named:
                basket.add(named_url(base, name, version))
                named.append((name, version))
        except BasketFull:
            raise
        except (FetchFailed, Invalid) as error:
            notes.append(f"{name} is skipped: {error.message}")
    _collect(caller, base, [], basket, {name for name, version in named if not version})
    return import_packages(caller, basket.archives, **{"skip_existing": True, **options}), notes


def read_bundle(data: bytes) -> list[dict[str, str]]:
    """The entries of a bundle: [{name, version, url}], '' for what is not given. Raises `Invalid`."""
    parsed: Any = None
    try:
        parsed = json.loads(data)
    except RecursionError:
        pass
    except ValueError:
        try:
            documents = read_documents(data, "the bundle")  # within limits, also of nesting and aliases
            parsed = plain(documents[0]) if len(documents) == 1 else None
        except TreeError:
            pass
    entries = parsed.get("Packages") if isinstance(parsed, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
        raise Invalid(Text("the bundle has to be a mapping with a list 'Packages' of {{Name, Version, Url}}"))
    if len(entries) > MOST:
        raise Invalid(Text("the bundle lists more than {most} packages", most=MOST))
    return [{k: str(e.get(k.capitalize()) or "") for k in ("name", "version", "url")} for e in entries]


def named_url(base: str, name: str, version: str = "") -> str:
    """Where a repository has a package. Raises `Invalid` for a name that is a path."""
    if not _NAME.fullmatch(name) or (version and not re.fullmatch(r"[\w.+-]+", version)):
        raise Invalid(
            Text(
                "'{name}' {version} is no name and version of a package in a repository",
                name=name[:80],
                version=version[:40],
            )
        )
    file = f"{name}.{version}.zip" if version else f"{name}.zip"
    return urljoin(base if base.endswith("/") else base + "/", f"apps/{quote(file)}")


class BasketFull(Invalid):
    """An import from elsewhere is of too many packages, too large, or takes too long."""

    kind = "limit"
    code = "SRV532"


class _Basket:
    """What one import has fetched, within limits that hold for all of it."""

    def __init__(self) -> None:
        self.archives: list[bytes] = []
        self._source = Source.configured()
        self._until = time.monotonic() + PATIENCE * self._source.seconds
        self._left = MOST_BYTES

    def add(self, url: str) -> bytes:
        """Fetches one more. Raises `BasketFull`, and like `fetch`."""
        left = self._until - time.monotonic()
        if len(self.archives) >= MOST:
            raise BasketFull(
                Text("these are more than {most} packages at once", most=MOST), hint=Text("import them in parts")
            )
        if left <= 0:
            text = Text("fetching them took more than {patience:g} seconds", patience=PATIENCE * self._source.seconds)
            raise BasketFull(text, hint=Text("import them in parts"))
        data = fetch(url, replace(self._source, seconds=min(left, self._source.seconds)))
        self._left -= len(data)
        if self._left < 0:
            text = Text("together they have more than {most_bytes} MiB", most_bytes=MOST_BYTES >> 20)
            raise BasketFull(text, hint=Text("import them in parts"))
        self.archives.append(data)
        return data


def _collect(caller: Caller, base: str, wanted: list[tuple[str, str]], basket: _Basket, seen: set[str]) -> None:
    """Fetches these packages, and what they and those in the basket require, as far as the catalog lacks it."""
    asked = [*wanted]
    for data in list(basket.archives):
        asked += _lacking(caller, data, seen)
    while asked:
        name, version = asked.pop()
        if name in seen and not version:
            continue
        seen.add(name)
        asked += _lacking(caller, basket.add(named_url(base, name, version)), seen)


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
