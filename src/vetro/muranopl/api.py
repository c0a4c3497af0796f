"""The public Python API of the language: `Engine` makes sessions over packages.

::

    engine = Engine(packages=load_path("my.app"))
    session = engine.session()
    session.load({"Objects": {...}})
    session.call("deploy")
    print(session.finalize()["Objects"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from secrets import token_hex
from typing import Any, Literal

from vetro.muranopl.configs import MemoryConfigs
from vetro.muranopl.defaults import defaults
from vetro.muranopl.functions.mocks import add_mock_functions
from vetro.muranopl.package_list import source_of
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
        self.source = source_of(packages, core)
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

    def session(self, *, seed: int | str | None = None) -> Session:
        """A new run: no objects, full budgets, nothing chosen yet."""
        chosen = self.seed if seed is None else seed
        if chosen is None:
            chosen = token_hex(16)
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


def default_natives() -> NativeRegistry | None:
    """Native classes of the core library, where it is installed beside the language."""
    natives: NativeRegistry | None = defaults().natives
    return natives
