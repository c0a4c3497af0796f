"""Classes of some packages as forms ask for them: schemas from task processes, inheritors from class files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from vetro import muranopl
from vetro.cli.compile_cache import code_cache
from vetro.cli.package_paths import extended
from vetro.engine.query.query import AskFailed
from vetro.forms.catalog import Implementation, Implementations
from vetro.forms.keywords import Schema
from vetro.forms.sessions import FormFailed
from vetro.library import core_packages
from vetro.muranopl.declarations.versions import allows
from vetro.yaql.errors import VetroError

#: What a task says of a class that there is not.
_MISSING = frozenset({"class-not-found", "package-not-found", "not-found"})


class LocalCatalog:
    """Implements `vetro.forms.catalog.Catalog`. ``asked`` puts questions to task processes that have the packages."""

    def __init__(self, asked: Any, packages: Iterable[Any]) -> None:
        self._asked = asked
        self._packages = list(packages)
        self._schemas: dict[tuple[Any, ...], dict[str, Schema] | None] = {}

    def schemas(
        self, name: str, version: str | None, package: str | None, methods: tuple[str, ...] | None = None
    ) -> dict[str, Schema] | None:
        """Schemas by method; '' is the class. None: the class and its model builders. None where there is no class.

        Raises `FormFailed` when a schema cannot be made.
        """
        key = (name, version, package, methods)
        if key not in self._schemas:
            args: dict[str, Any] = {"form": True}
            if methods is not None:
                args["methods"] = list(methods)
            on_class = {"name": name, "version": version or "*", "package": package}
            try:
                self._schemas[key] = self._asked.question("schema", on_class=on_class, args=args)
            except AskFailed as error:
                if error.error.get("kind") not in _MISSING:
                    raise FormFailed(f"the class {name} cannot be read: {error.message}", dict(error.error)) from None
                self._schemas[key] = None
        return self._schemas[key]

    def class_schema(self, name: str, version: str | None, package: str | None) -> Schema | None:
        """See `vetro.forms.catalog.Catalog`."""
        found = self.schemas(name, version, package)
        return None if found is None else found.get("")

    def inheritors(
        self, name: str, version: str | None, search: str = "", offset: int = 0, limit: int = 100
    ) -> Implementations:
        """See `vetro.forms.catalog.Catalog`."""
        wanted = search.casefold()
        found = [
            Implementation(f"{row['class']}/{row['version']}@{row['fqn']}", row["title"])
            for row in self._classes
            if name in row["ancestors"] and allows(version, row["version"])
            if wanted in f"{row['class']} {row['title']}".casefold()
        ]
        return Implementations(found[offset : offset + limit], len(found) > offset + limit)

    def packages_of(self, class_name: str) -> list[Mapping[str, Any]]:
        """{fqn, name, classes} of the packages whose classes are or inherit ``class_name``."""
        found: dict[str, dict[str, Any]] = {}
        for row in self._classes:
            if class_name in row["ancestors"]:
                one = found.setdefault(row["fqn"], {"fqn": row["fqn"], "name": row["package"], "classes": []})
                one["classes"].append(row["class"])
        return list(found.values())

    @cached_property
    def _classes(self) -> list[dict[str, Any]]:
        """Every class that can be picked, in its newest version, by title. Runs no code of the packages."""

        known, extensions = extended(self._packages)
        session = muranopl.Engine(known, natives=extensions.natives, code_cache=code_cache(self._packages)).session()
        newest: dict[tuple[str, str], Any] = {}
        for package in (*known, *core_packages()):
            for name in package.classes:
                other = newest.get((package.name, name))
                if other is None or other.version < package.version:
                    newest[package.name, name] = package
        rows = []
        for (fqn, name), package in newest.items():
            try:
                kind = session.types.in_package(package, name)
            except VetroError:  # a class that cannot be read cannot be picked; `vetro check` says why
                continue
            if kind.is_meta:
                continue
            title = str(package.display_name or fqn)
            rows.append(
                {
                    "class": name,
                    "fqn": fqn,
                    "package": title,
                    "version": str(package.version),
                    "title": title if name == fqn else f"{title}: {name.rpartition('.')[2]}",
                    "ancestors": {ancestor.name for ancestor in kind.ancestors},
                }
            )
        return sorted(rows, key=lambda row: (row["title"].casefold(), row["class"]))
