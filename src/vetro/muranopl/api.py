"""The public Python API of the language: `Engine` makes sessions over packages.

::

    engine = Engine(packages=load_path("my.app"))
    session = engine.session()
    session.load({"Objects": {...}})
    session.call("deploy")
    print(session.finalize()["Objects"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any, Literal

from vetro.muranopl.configs import MemoryConfigs
from vetro.muranopl.declarations.versions import version_key
from vetro.muranopl.defaults import default_natives, defaults
from vetro.muranopl.functions.mocks import add_mock_functions
from vetro.muranopl.package_resolver import Skipped
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.runtime.execution import Clock, MuranoExecution
from vetro.muranopl.session import Session
from vetro.muranopl.types.native import NativeRegistry
from vetro.yaql.context import Limits
from vetro.yaql.resolve.signature import Overload


class Engine:
    """Packages, host functions and limits; each `session` is an independent run over them.

    ``packages``: package objects (`vetro.packages.load_path`, `memory_package`…) or one package source. The core
    library is added unless a package of its name is among them. ``functions``: host functions for all code.
    ``effects``: the door to the outside (`vetro.muranopl.runtime.effects`). ``configs``: class configuration rows or an
    object with ``get``. ``seed``: ids and random names of a session follow from it; without one every session gets its
    own. ``tier``: 'closure' evaluates every expression by closures, slowly: the oracle for the compiled tier.
    """

    def __init__(
        self,
        packages: Iterable[Any] | Any = (),
        *,
        limits: Limits | None = None,
        configs: Any = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        natives: NativeRegistry | None = None,
        effects: Any = None,
        clock: Clock | None = None,
        seed: int | str | None = None,
        mocking: bool = False,
        code_cache: Any = None,
        settings: Mapping[str, Any] | None = None,
        secrets: Callable[[str], str] | None = None,
        core: Iterable[Any] | None = None,
        tier: Literal["compiled", "closure"] = "compiled",
    ) -> None:
        self.source = _source_of(packages, core)
        self.limits = limits or Limits()
        self.configs = (
            configs if hasattr(configs, "get") and not isinstance(configs, Mapping) else MemoryConfigs(configs or ())
        )
        self.natives = NativeRegistry(parent=natives if natives is not None else default_natives())
        for name, implementation in (functions or {}).items():
            self.natives.register_function(name, implementation)
        if mocking:
            add_mock_functions(self.natives)
        self.effects = effects
        self.clock = clock
        self.seed = seed
        self.mocking = mocking
        self.code_cache = code_cache
        self.settings = settings
        self.secrets = secrets
        self.tier = tier

    def session(self, *, seed: int | str | None = None, linked: Session | None = None) -> Session:
        """A new run: no objects, full budgets, nothing chosen yet. ``linked``: a session of an engine with the same
        functions that becomes this one, and keeps of a run that it had linked classes alone (`Session.adopt`)."""
        chosen = self.seed if seed is None else seed
        if chosen is None:
            chosen = token_hex(16)
        if linked is not None:
            linked.adopt(
                self.source,
                self.limits,
                natives=self.natives,
                configs=self.configs,
                code_cache=self.code_cache,
                effects=self.effects,
                clock=self.clock,
                settings=self.settings,
                secrets=self.secrets,
                seed=chosen,
            )
            return linked
        rt = MuranoExecution(self.limits, clock=self.clock, seed=f"run:{chosen}")
        overloads: dict[str, Overload] = {o.name: o for o in self.natives.overloads()}
        return Session(
            self.source,
            rt,
            effects=self.effects if self.effects is not None else InProcessEffects(),
            natives=self.natives,
            functions=overloads,
            configs=self.configs,
            code_cache=self.code_cache,
            settings=self.settings,
            secrets=self.secrets,
            mocking=self.mocking,
            seed=chosen,
            tier=self.tier,
        )


class PackageListSource:
    """Answers from packages held in memory; ``behind`` are other sources asked for what the list lacks."""

    def __init__(self, packages: Iterable[Any], behind: Sequence[Any] = ()) -> None:
        self._by_name: dict[str, list[Any]] = {}
        self._by_class: dict[str, list[Any]] = {}
        self._skipped: list[Skipped] = []
        self._behind = tuple(behind)
        self._shares: bool | None = None
        for package in packages:
            if isinstance(package, Skipped):
                self._skipped.append(package)
                continue
            same = self._by_name.setdefault(package.name, [])
            if any(p.version == package.version for p in same):
                continue  # the first one wins
            same.append(package)
            for name in package.classes:
                self._by_class.setdefault(name, []).append(package)

    def packages(self, name: str) -> list[Any]:
        """All versions of a package."""
        found = list(self._by_name.get(name, ()))
        for source in self._behind:
            found += [p for p in source.packages(name) if all(p.version != f.version for f in found)]
        return found

    def packages_with_class(self, class_name: str) -> list[Any]:
        """All packages that define the class."""
        found = list(self._by_class.get(class_name, ()))
        for source in self._behind:
            more = source.packages_with_class(class_name)
            known = {(p.name, p.version) for p in found}
            found += [p for p in more if (p.name, p.version) not in known] if known else more
        return found

    def _shared_classes(self) -> bool:
        """Whether two packages define the same class."""
        if self._shares is None:
            self._shares = any(len({p.name for p in found}) > 1 for found in self._by_class.values())
        return self._shares

    def settled(self, fixed: Mapping[str, Iterable[str]]) -> bool:
        """Whether every choice among these packages is the same whatever a run meets first.

        ``fixed``: package -> versions that the run prefers from the beginning (`PackageResolver.load_fixations`).
        """
        if self._behind or self._shared_classes():
            return False
        for name, found in self._by_name.items():
            if len(found) > 1:  # preferred are those that were met; only the lowest may be met or not
                ordered = sorted(found, key=lambda p: (version_key(p.version), p.version.build))
                if not {str(p.version) for p in ordered[1:]} <= set(fixed.get(name, ())):
                    return False
        return True

    def skipped(self) -> list[Skipped]:
        """What was left out."""
        return [*self._skipped, *(s for source in self._behind for s in source.skipped())]

    def all(self) -> list[Any]:
        """Every package of the list, in the order given."""
        return [p for packages in self._by_name.values() for p in packages]


def _source_of(packages: Any, core: Iterable[Any] | None) -> PackageListSource:
    """A source over packages or a source, with the core library added unless a package of that name is there."""
    if core is None:
        core = defaults().packages
    if hasattr(packages, "packages_with_class"):
        extra = [p for p in core if not packages.packages(p.name)]
        return PackageListSource(extra, [packages])
    given = list(packages)
    names = {p.name for p in given if not isinstance(p, Skipped)}
    return PackageListSource([*given, *(p for p in core if p.name not in names)])
