"""Vetro behind the benchmark's adapter interface (README.md). Uses the public API; limits are on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from vetro import yaql
from vetro.library import core_natives, core_packages
from vetro.muranopl import Engine, Limits, Session
from vetro.muranopl.errors import MuranoError
from vetro.packages.cache import DiskCache
from vetro.packages.directory import DirectorySource
from vetro.packages.source import PackageList
from vetro.yaql.values import freeze, thaw

# What the engine imports when first needed belongs to the import time, not to a workload.
for _name in (
    *("compiler.methods", "objects.loader", "reader.files", "schemas", "objects.serializer", "types.flat", "api"),
    "runtime.exceptions",
):
    import_module("vetro.muranopl." + _name)
import_module("yaml")


class Adapter:
    """One run. ``cache``: folder of a compile cache on disk. ``lazy``: methods are compiled when first called, as the
    engine does; otherwise together with their class, so that the first call costs nothing more.
    """

    name = "vetro"

    def __init__(self, cache: str | None = None, *, lazy: bool = False) -> None:
        self._cache = None if cache is None else DiskCache(cache, writable=True)
        self._lazy = lazy
        self._core: list[Any] | None = None
        self._folders: list[str] = []
        self._session: Session | None = None
        self._compiled: set[str] = set()
        self._expressions: dict[str, yaql.Expression] = {}

    # -- packages ------------------------------------------------------------------------------------------------------

    def load_core(self) -> None:
        """Makes the core library available."""
        if self._core is None:
            self._core = core_packages()

    def load_packages(self, directory: str | Path) -> None:
        """Adds every package below ``directory``."""
        self.load_core()
        self._folders.append(str(directory))
        self._session = None

    @property
    def session(self) -> Session:
        """The session of this run, made when first needed."""
        if self._session is None:
            self.load_core()
            packages: list[Any] = []
            for folder in self._folders:
                packages += DirectorySource(folder, cache=self._cache).all()
            engine = Engine(
                packages=PackageList(packages),
                limits=Limits(),
                natives=core_natives(),
                core=self._core,
                code_cache=self._cache,
            )
            self._session = engine.session()
        return self._session

    def class_names(self, package: str) -> list[str]:
        """Classes of a package; none when it is not there."""
        versions = self.session.resolver.versions_of(package)
        return sorted(versions[0].classes) if versions else []

    def load_class(self, name: str, version_spec: str = "*") -> dict[str, Any]:
        """Reads and links a class and what it extends."""
        found = self.session.type_by_name(name, version_spec)
        self._compile()
        return {
            "name": found.name,
            "version": str(found.version),
            "properties": list(found.own_properties),
            "methods": list(found.own_methods),
        }

    def _compile(self) -> None:
        """Compiles methods, contracts and defaults of all linked classes, and of those that get linked by it."""
        if self._lazy:
            return
        found = True
        while found:
            found = False
            for linked in self.session.types:
                if linked.qualified not in self._compiled:
                    found = True
                    self._compiled.add(linked.qualified)
                    _compile_class(linked)

    def resolve(self, package: str, spec: str) -> str:
        """The version that a requirement picks; it is preferred from then on."""
        return str(self.session.resolver.find_package(package, spec).version)

    # -- objects -------------------------------------------------------------------------------------------------------

    def load_model(self, model: Mapping[str, Any]) -> None:
        """Loads a model and compiles the classes that came with it."""
        self.session.load(model)
        self._compile()

    def call(self, object_id: str, method: str, args: Mapping[str, Any]) -> Any:
        """The result of a public method, as plain data."""
        return thaw(self.session.call(method, kwargs=args, object_id=object_id))

    def serialize(self) -> dict[str, Any]:
        """The loaded model, without the chosen package versions."""
        model = self.session.serialize(copy=True)
        return {key: model[key] for key in ("Objects", "ObjectsCopy", "Attributes")}

    def schema(self, class_name: str) -> Any:
        """JSON Schemas of a class and its model builders."""
        return self.session.schema(class_name, version="*")

    def ui_eval(self, expressions: list[str], data: Mapping[str, Any]) -> list[Any]:
        """Evaluates expressions of a form; those seen before are kept compiled."""
        known, result = self._expressions, []
        dialect = yaql.named_dialect("legacy", grammar="standard")
        values = {name: freeze(value) for name, value in data.items()}
        scope = yaql.Env({"1": freeze(data), **values}, None, yaql.CodeContext(yaql.Execution(), dialect))
        for text in expressions:
            expression = known.get(text)
            if expression is None:
                expression = known[text] = yaql.compile(text, dialect=dialect)
            result.append(expression.evaluate(context=scope, convert=True))
        return result

    def comparable(self, result: Any) -> Any:
        """A result in the form that was recorded; not timed. Murano's schemas do not say the version of a class."""
        return _without_class_versions(result)

    def close_model(self) -> None:
        """Lets the session go."""
        if self._session is not None:
            self._session.close()
            self._session = None


def _compile_class(linked: Any) -> None:
    try:
        _ = linked.pyclass
        for prop in linked.properties.values():
            _ = prop.transform
        for method in linked.methods.values():
            _ = method.function
    except MuranoError:
        # Some classes of the core library are declared and not implemented; a workload that needs one says so itself.
        return


def _without_class_versions(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = "version" if "muranoType" in value else None
        return {key: _without_class_versions(item) for key, item in value.items() if key != dropped}
    if isinstance(value, (list, tuple)):
        return [_without_class_versions(item) for item in value]
    return value
