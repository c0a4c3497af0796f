"""Packages as syntax trees of YAML, the places in them that an `operator` may change, and what comes of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vetro.packages.compat.findings import Level
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.packages.manifest import parse_manifest
from vetro.packages.package import LoadedPackage

MAJOR, MINOR, PATCH = Level.MAJOR, Level.MINOR, Level.PATCH
Files = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    """A changed package: its files, what the change is, and the member that it is about."""

    files: Files
    level: Level
    element: str


def files_of(folder: Path) -> Files:
    """Files of a package; those in YAML as syntax trees."""
    found: Files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(folder))
            tree = name == "manifest.yaml" or name.startswith("Classes/")
            found[name] = list(yaml.compose_all(path.read_text("utf-8"))) if tree else path.read_bytes()
    return found


def loaded(files: Files) -> LoadedPackage:
    """The package that these files are."""
    content = {
        name: yaml.serialize_all(value, width=100_000) if isinstance(value, list) else value
        for name, value in files.items()
    }
    tree = MemoryTree(content, "package")
    return default_registry().load(tree, parse_manifest(tree.read("manifest.yaml"), tree.file_id("manifest.yaml")))


# -- trees -------------------------------------------------------------------------------------------------------------


def node(text: str) -> Any:
    return yaml.compose(text)


def get(mapping: Any, name: str) -> Any:
    if not isinstance(mapping, yaml.MappingNode):
        return None
    return next((value for key, value in mapping.value if key.value == name), None)


def put(mapping: Any, name: str, text: str) -> None:
    drop(mapping, name)
    mapping.value.append((node(name), node(text)))


def drop(mapping: Any, name: str) -> None:
    mapping.value[:] = [pair for pair in mapping.value if pair[0].value != name]


def rename(mapping: Any, name: str) -> None:
    next(key for key, _ in mapping.value if key.value == name).value = f"{name}Renamed"


def scalar(mapping: Any, name: str) -> str:
    found = get(mapping, name)
    return found.value if isinstance(found, yaml.ScalarNode) else ""


@dataclass
class Site:
    """A class in a copy of a package that may be changed."""

    files: Files
    package: Any
    name: str
    tree: Any
    #: Names of members that its bases have, too: without its own one there is still theirs.
    inherited: frozenset[str] = frozenset()

    def members(self, section: str) -> Iterator[tuple[str, Any]]:
        found = get(self.tree, section)
        if isinstance(found, yaml.MappingNode):
            yield from ((key.value, value) for key, value in found.value if isinstance(value, yaml.MappingNode))


Way = Callable[[Site], Iterator[tuple[Level, str, Callable[[Site], None]]]]
OPERATORS: dict[str, Way] = {}


def operator(way: Way) -> Way:
    OPERATORS[way.__name__] = way
    return way


def mutants(files: Files, package: LoadedPackage, session: Any, way: Way) -> Iterator[Callable[[], Mutant]]:
    """Makers of what an operator makes of a package, one for each place where it can be applied.

    ``session``: where its classes are linked.
    """
    for name, path in package.classes.items():
        inner = path.removeprefix("package/")
        trees = files.get(inner)
        if not isinstance(trees, list) or len(trees) != 1:
            continue
        bases = session.types.in_package(package, name).ancestors[1:]
        inherited = frozenset(member for base in bases for member in (*base.own_properties, *base.own_methods))
        for level, member, change in way(Site(files, package, name, trees[0], inherited)):

            def made(name: str = name, inner: str = inner, level: Level = level, member: str = member,
                     change: Callable[[Site], None] = change) -> Mutant:  # fmt: skip
                changed = copy.deepcopy(files)
                change(Site(changed, package, name, changed[inner][0]))
                return Mutant(changed, level, name + member)

            yield made
