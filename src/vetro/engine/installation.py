"""What every task process of an installation shares: the standard packages, native classes, compiled code.

The zygote prepares it once (`prepare`); the task processes are forked from it and find everything in memory.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.library import core_packages
from vetro.muranopl.api import Engine
from vetro.muranopl.code_cache import CodeCache, MemoryCache
from vetro.muranopl.defaults import default_natives
from vetro.muranopl.functions.dialects import LEVELS, base_dialect
from vetro.muranopl.package_protocols import CORE_LIBRARY
from vetro.muranopl.precompile import precompile
from vetro.muranopl.session import Session
from vetro.muranopl.types.native import NativeRegistry
from vetro.packages.cache import DiskCache
from vetro.packages.extensions.plugins import installed

#: Packages of ours whose modules are all loaded before anything is forked.
PRELOADED = ("vetro.yaql", "vetro.muranopl", "vetro.packages", "vetro.library")
#: What the engine itself answers, as `Installation.answering` has it.
ANSWERING = ("health=vetro.engine.task.health_checks:answering",)
#: What they load when it is first needed.
LAZY = ("dateutil.tz", "dateutil.parser", "re2", "zipfile", "zlib", "bz2", "lzma", "resource", "linecache", "traceback")
#: Modules that belong to the developer's tools, and need what a server does not have.
NOT_PRELOADED = frozenset({"vetro.muranopl.tools.coverage"})


class Layered:
    """A read-only cache in front of another: what the zygote compiled, then what the import step wrote."""

    def __init__(self, near: CodeCache, far: CodeCache | None) -> None:
        self._near = near
        self._far = far

    def get(self, key: str) -> bytes | None:
        """The value in either."""
        found = self._near.get(key)
        return found if found is not None or self._far is None else self._far.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Does nothing: a task writes no code for others."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Native classes and compiled code; see `prepare`."""

    natives: Any
    cache: CodeCache
    #: Name -> what answers questions of tasks of kind ``questions``: a function that gets the `Performance` and gives
    #: one that gets a question and gives the answer, plain data both. Or, for `vetro.engine.query.sandboxed_worker`,
    #: one that gets this installation and gives one that answers at a descriptor.
    answering: Mapping[str, Callable[[Any], Callable[[Any], Any]]] = field(default_factory=dict)
    #: A session that has linked the core library and run it once, for the first one of each process that is
    #: forked: linking and binding the core library takes most of what a small task computes.
    linked: list[Session] = field(default_factory=list)


def prepare(
    natives: Iterable[str] = (), cache_folder: str | None = None, answering: Iterable[str] = ()
) -> Installation:
    """Loads the engine and compiles the standard packages. Runs no code of other packages.

    ``natives`` are ``module:function`` of functions that get the `NativeRegistry` and add classes to it.
    ``cache_folder`` is a compile cache. Tasks only read it; what is missing of the standard packages is written here,
    before there are any: compiling them takes ten times as long as reading them. ``answering`` are
    ``name=module:function``: layers above the engine add questions that way, and a task can only name what is there.
    Raises `ImportError`, `AttributeError`.
    """
    preload()
    from vetro.engine.warm_up_package import package
    from vetro.packages.formats import default_registry

    registry = NativeRegistry(parent=default_natives())
    for name in natives:
        register(name)(registry)
    default_registry()
    installed()  # processes that are forked find it in memory
    compiled = MemoryCache()
    writable = DiskCache(cache_folder, writable=True) if cache_folder is not None else None
    session = Engine((), natives=registry, code_cache=_Filling(compiled, writable)).session()
    precompile(session, [*core_packages(), package()])
    session.types.store_declarations()
    session.types.keep(CORE_LIBRARY)
    for linked in session.types:
        session.store.plan(linked)
    for level in LEVELS:
        base_dialect(level, False)
    named = (item.partition("=") for item in (*ANSWERING, *answering))
    disk = DiskCache(cache_folder) if cache_folder is not None else None
    answers = {name: register(target) for name, _, target in named}
    return Installation(registry, Layered(compiled, disk), answers, [session])


class _Filling(Layered):
    """Keeps in both what it is given, and in the near one what it finds in the other."""

    def get(self, key: str) -> bytes | None:
        """The value in either; from now on it is near."""
        found = super().get(key)
        if found is not None:
            self._near.put(key, found)
        return found

    def put(self, key: str, data: bytes) -> None:
        """Keeps ``data`` in both."""
        self._near.put(key, data)
        if self._far is not None:
            self._far.put(key, data)


def preload() -> None:
    """Loads every module that a task may need: what is loaded later costs each task its time, and needs files."""
    for package in PRELOADED:
        module = importlib.import_module(package)
        for found in pkgutil.walk_packages(module.__path__, package + "."):
            if found.name not in NOT_PRELOADED and not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for name in LAZY:
        importlib.import_module(name)


def register(name: str) -> Callable[[Any], Any]:
    """The function behind ``module:function``. Raises `ImportError`, `AttributeError`, `ValueError`."""
    module, colon, function = name.partition(":")
    if not colon:
        raise ValueError(f"'{name}' names no function: write module:function")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), function)
    return found
