"""`Lock`: which archives an environment was deployed with, and why these: the document ``environment.lock``.

It names no environment and no object: the same packages chosen for the same reasons give the same lock on every
installation. Its SHA-256 stands for it. `vetro.muranopl.package_resolver` chooses; here is written what it chose.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import objects
from vetro.packages.errors import LockError

#: Version of the document.
FORMAT: Final = 1
#: Packages and choices that a lock may have, and characters of one text in it.
MOST_PACKAGES: Final = 500
MOST_CHOICES: Final = 20_000
_LONGEST: Final = 1000

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class LockedPackage:
    """One archive. Several versions of a package may stand side by side."""

    name: str
    version: str
    #: SHA-256 of the archive.
    digest: str
    #: Where it was when it was locked: ``project`` or ``public``, the catalog; ``environment``: nowhere else.
    source: str = field(default="", compare=False)
    #: Who vouches for it; '': nobody.
    signer: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


@dataclass(frozen=True, slots=True, order=True)
class ChosenVersion:
    """Why a version was chosen: ``who`` asked for ``name`` in a version that fits ``spec``, and got ``chosen``.

    ``who`` and ``chosen`` are written NAME/VERSION; an empty ``who`` is the object model, which asks for classes.
    """

    who: str
    name: str
    spec: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Lock:
    """``packages`` and ``resolution`` are sorted: make one with `made`."""

    #: The engine's version with the digest of its code; '': not known.
    engine: str
    #: Standard packages, NAME/VERSION -> SHA-256.
    library: Mapping[str, str]
    packages: tuple[LockedPackage, ...]
    #: SHA-256 of the class configurations; '': not known.
    configs: str
    resolution: tuple[ChosenVersion, ...] = ()

    @classmethod
    def made(
        cls,
        packages: Iterable[LockedPackage],
        resolution: Iterable[ChosenVersion] = (),
        *,
        engine: str = "",
        library: Mapping[str, str] | None = None,
        configs: str = "",
    ) -> Lock:
        """The lock of these; of several archives for one version the first counts."""
        first: dict[str, LockedPackage] = {}
        for package in packages:
            first.setdefault(str(package), package)
        chosen = tuple(sorted(set(resolution)))
        return cls(engine, dict(library or {}), tuple(sorted(first.values())), configs, chosen)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "format": FORMAT,
            "engine": self.engine,
            "library": dict(self.library),
            "packages": [asdict(package) for package in self.packages],
            "configs": self.configs,
            "resolution": [asdict(choice) for choice in self.resolution],
        }

    def text(self) -> str:
        """The document in canonical form: sorted keys, no blanks."""
        return canonical(self.as_json())

    def digest(self) -> str:
        """SHA-256 of the canonical form."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def versions(self) -> dict[str, list[str]]:
        """Package -> its versions, as ``SystemData.Packages`` of a model has them."""
        found: dict[str, list[str]] = {}
        for package in self.packages:
            found.setdefault(package.name, []).append(package.version)
        return found

    def requirements(self) -> dict[str, dict[str, str]]:
        """NAME/VERSION -> what its code asks for -> NAME/VERSION that it gets (`PackageResolver.bind`)."""
        return requirements_of(self.resolution)

    def narrowed(self, model: Mapping[str, Any]) -> Lock:
        """What of it a model came from that a deployment left: the packages that it says it used, and whatever these
        require; all of it where it says nothing. Objects ask for the versions in their headers."""
        used = (model.get("SystemData") or {}).get("Packages") or {}
        there = {str(package) for package in self.packages}
        if used:
            wanted = {f"{name}/{version}" for name, versions in used.items() for version in versions}
            there = _reached(wanted & there, self.resolution) & there
        known = there | self.library.keys()
        objects_ask = set(_headers(model.get("Objects"), known))
        named = {choice.name for choice in objects_ask}
        kept = [
            choice
            for choice in self.resolution
            if choice.chosen in known and (choice.who in known if choice.who else choice.name not in named)
        ]
        packages = [package for package in self.packages if str(package) in there]
        return Lock.made(
            packages, [*kept, *objects_ask], engine=self.engine, library=self.library, configs=self.configs
        )


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def requirements_of(resolution: Iterable[ChosenVersion]) -> dict[str, dict[str, str]]:
    """See `Lock.requirements`."""
    found: dict[str, dict[str, str]] = {}
    for choice in resolution:
        if choice.who:
            found.setdefault(choice.who, {})[choice.name] = choice.chosen
    return found


def read_lock(value: Any) -> Lock:
    """The lock in a document that anybody may have written. Raises `LockError`."""
    if not isinstance(value, dict):
        raise LockError(Text("a lock must be an object"))
    if value.get("format") != FORMAT:
        raise LockError(Text("the lock was written by a newer Vetro, or by something else"))
    library = value.get("library")
    if not isinstance(library, dict) or len(library) > MOST_PACKAGES:
        raise LockError(_bad("library"))
    packages = [
        LockedPackage(*(_word(row, key, "packages") for key in ("name", "version", "digest", "source", "signer")))
        for row in _rows(value, "packages", MOST_PACKAGES)
    ]
    if not all(_DIGEST.fullmatch(package.digest) for package in packages):
        raise LockError(_bad("packages"))
    resolution = [
        ChosenVersion(*(_word(row, key, "resolution") for key in ("who", "name", "spec", "chosen")))
        for row in _rows(value, "resolution", MOST_CHOICES)
    ]
    engine, configs = _word(value, "engine", "engine"), _word(value, "configs", "configs")
    told = {_short(name, "library"): _short(digest, "library") for name, digest in library.items()}
    return Lock.made(packages, resolution, engine=engine, library=told, configs=configs)


def parse_lock(text: str) -> Lock:
    """The lock in the text of a document. Raises `LockError`."""
    try:
        return read_lock(json.loads(text))
    except (ValueError, RecursionError):
        raise LockError(Text("the lock is no JSON")) from None


def _rows(value: Mapping[str, Any], key: str, most: int) -> list[Mapping[str, Any]]:
    rows = value.get(key)
    if not isinstance(rows, list) or len(rows) > most or not all(isinstance(row, dict) for row in rows):
        raise LockError(_bad(key))
    return rows


def _word(row: Mapping[str, Any], key: str, where: str) -> str:
    return _short(row.get(key), where)


def _short(value: Any, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or "\0" in value or not value.isprintable():
        raise LockError(_bad(where))
    return value


def _bad(key: str) -> Text:
    return Text("'{key}' of the lock is not as a lock has it", key=key)


def _reached(found: set[str], resolution: Iterable[ChosenVersion]) -> set[str]:
    """``found`` with all that they require, near or far."""
    edges: dict[str, list[str]] = {}
    for choice in resolution:
        edges.setdefault(choice.who, []).append(choice.chosen)
    level, reached = list(found), set(found)
    while level:
        news = [chosen for who in level for chosen in edges.get(who, ()) if chosen not in reached]
        reached.update(news)
        level = news
    return reached


def _headers(root: Any, known: Iterable[str]) -> Iterator[ChosenVersion]:
    """What the objects of a model ask for that a deployment left: its headers name version and package."""
    for written in dict.fromkeys(map(type_of, objects(root))):
        name, version, package = parse_type_text(written)
        chosen = f"{package}/{version}"
        if version and package and chosen in known:
            yield ChosenVersion("", name, version, chosen)
