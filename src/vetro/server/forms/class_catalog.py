"""Classes of the service's catalog as forms ask for them: `describer_for` (vetro.forms.catalog).

Schemas come from task processes and are remembered by the content of the packages; what was described is kept as long
as the project's catalog, and the packages that its environment is tied to, stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Max

from vetro.diagnostics import Text, encode_messages
from vetro.engine.query.query import AskFailed
from vetro.forms.author_texts import with_translations
from vetro.forms.catalog import Describer, Implementation, Implementations
from vetro.forms.keywords import Schema
from vetro.forms.sessions import FormFailed
from vetro.muranopl.errors import DeclarationError
from vetro.packages.texts import Translations
from vetro.server.cache import RecentCache, as_text
from vetro.server.caller import Caller
from vetro.server.catalog.classes import Implementation as PackagedClass
from vetro.server.catalog.classes import implementations
from vetro.server.catalog.dependencies import Pinned, packages_for, packages_for_model
from vetro.server.catalog.models import Package
from vetro.server.catalog.package_texts import texts_of
from vetro.server.catalog.resolver import scope_of
from vetro.server.catalog.standard_packages import owner_of
from vetro.server.errors import Invalid
from vetro.server.tasks.package_queries import ask

_schemas = RecentCache(2000, 32 << 20, lambda schemas: as_text(encode_messages(schemas)))
_texts = RecentCache(500, 16 << 20, as_text)
_describers = RecentCache(64)


class ServiceCatalog:
    """The classes that a project sees; implements `vetro.forms.catalog.Catalog`.

    ``pinned``: the packages of an environment's last task, which it goes on using (`choose`).
    """

    def __init__(self, project_id: str, project_name: str, pinned: Pinned) -> None:
        # What is kept is for the whole project: nobody's name goes into it.
        self.caller = Caller("", "", project_id, project_name, ())
        self._pinned = pinned
        self._rows = RecentCache(500)

    def packages_of(self, name: str, version: str | None, package: str | None) -> list[Package]:
        """The rows that a class needs, its own first. Raises `Invalid` where the catalog lacks them."""

        def found() -> list[Package]:
            header = {"type": name, "classVersion": version, "package": package}
            rows = packages_for_model(self.caller, {"?": header}, self._pinned)
            own = [row for row in rows if name in row.class_names and package in (None, "", row.fqn)]
            return [*own[:1], *(row for row in rows if row not in own[:1])]

        return list(self._rows.get((name, version, package), found))

    def package_rows(self, fqn: str, version: str) -> list[Package]:
        """The rows of a package with all that it requires. Raises `Invalid` where the catalog lacks some of it."""
        made = self._rows.get((fqn, version), lambda: packages_for(self.caller, [(fqn, f"=={version}")], self._pinned))
        return list(made)

    def schemas(
        self, name: str, version: str | None, package: str | None, methods: tuple[str, ...] | None = None
    ) -> dict[str, Schema] | None:
        """Schemas for forms by method; '' is the class. None: the class and its model builders.

        None where the catalog lacks the class. Raises `FormFailed` when its schema cannot be made.
        """
        try:
            rows = self.packages_of(name, version, package)
        except Invalid:
            return None
        own = rows[0] if rows and name in rows[0].class_names else owner_of(name, package)
        on_class: dict[str, Any] = {"name": name, "version": None, "package": None}
        if own is not None:
            on_class = {"name": name, "version": f"=={own.version}", "package": own.fqn}
        key = (tuple(on_class.values()), methods, tuple(sorted(row.digest for row in rows)))

        def made() -> dict[str, Schema]:
            args: dict[str, Any] = {"form": True}
            if methods is not None:
                args["methods"] = list(methods)
            found: dict[str, Schema] = ask(self.caller, "schema", packages=rows, on_class=on_class, args=args)
            texts = self.texts_of(name, version, package)
            return {method: with_translations(schema, texts) for method, schema in found.items()}

        try:
            return _schemas.get(key, made)
        except AskFailed as error:
            if error.error.get("kind") in ("class-not-found", "package-not-found", "not-found"):
                return None
            text = Text("The class {name} cannot be read. Please tell whoever maintains the package.", name=name)
            raise FormFailed(text, dict(error.error)) from None

    def texts_of(self, name: str, version: str | None, package: str | None) -> Translations:
        """What the packages that a class needs say in other languages, its own first; none where they are missing."""
        try:
            rows = self.packages_of(name, version, package)
        except Invalid:
            return {}
        return _texts.get(tuple(row.digest for row in rows), lambda: texts_of(rows))

    def class_schema(self, name: str, version: str | None, package: str | None) -> Schema | None:
        """See `vetro.forms.catalog.Catalog`."""
        found = self.schemas(name, version, package)
        return None if found is None else found.get("")

    def inheritors(
        self, name: str, version: str | None, search: str = "", offset: int = 0, limit: int = 100
    ) -> Implementations:
        """See `vetro.forms.catalog.Catalog`."""
        try:
            found = implementations(
                self.caller, name, spec=version or None, search=search, limit=limit + 1, offset=offset
            )
        except DeclarationError:
            found = []
        types = [f"{item.class_name}/{item.version}@{item.fqn}" for item in found[:limit]]
        items = list(map(Implementation, types, _labels(found[:limit])))
        return Implementations(items, len(found) > limit)


def _labels(found: Sequence[PackagedClass]) -> list[str]:
    """What people call these classes: the application, or what it is; with package and version where that is needed."""
    short = [item.name if item.class_name == item.fqn else item.class_name.rpartition(".")[2] for item in found]
    whole = [one if one == item.name else f"{item.name}: {one}" for item, one in zip(found, short, strict=True)]
    told = [one if short.count(one) == 1 else more for one, more in zip(short, whole, strict=True)]
    return [one if told.count(one) == 1 else f"{one} {item.version}" for item, one in zip(found, told, strict=True)]


def catalog_of(describer: Describer) -> ServiceCatalog:
    """The catalog behind a describer of `describer_for`."""
    assert isinstance(describer.catalog, ServiceCatalog)
    return describer.catalog


def describer_for(project_id: str, project_name: str, pinned: Pinned) -> Describer:
    """What describes the classes that a project sees, in the versions that an environment is tied to."""
    state = Package.objects.filter(scope_of(project_id)).aggregate(Count("id"), Max("updated"))
    key = (project_id, tuple(state.values()), tuple(sorted(pinned)))
    return _describers.get(key, lambda: Describer(ServiceCatalog(project_id, project_name, tuple(pinned))))
