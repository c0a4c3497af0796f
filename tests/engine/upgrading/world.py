"""Packages in memory in several versions, and models that are upgraded between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.engine.upgrading.migration import NoEffects
from vetro.engine.upgrading.upgrade import UpgradeRequest, upgraded
from vetro.muranopl.api import Engine
from vetro.muranopl.runtime.execution import EffectClock
from vetro.packages import memory_package

HEAD = "Namespaces: {=: t, std: io.murano, l: io.vetro.lifecycle}\n"


def package(version: str, classes: Mapping[str, str], name: str = "t", **require: str) -> Any:
    """A package whose classes (short name -> text) are in the namespace ``t``."""
    files = {f"t.{short}": f"{HEAD}Name: {short}\n{text}" for short, text in classes.items()}
    given = {"name": name, "version": version, "format": "1.4", "classes": files}
    return memory_package({**given, "require": {"io.vetro": "1", **require}})


def obj(kind: str, id: str, version: str = "1.0.0", package: str = "t", **values: Any) -> dict[str, Any]:
    return {"?": {"type": f"t.{kind}/{version}@{package}", "id": id}, **values}


class World:
    """Packages, and upgrades of models among them."""

    def __init__(self, *packages: Any) -> None:
        self.packages = packages

    def session(self, table: Mapping[str, Any]) -> Any:
        chosen = [p for p in self.packages if p.name not in table or str(p.version) in table[p.name]]
        made = Engine(chosen, effects=NoEffects(), clock=EffectClock(), seed="migration").session()
        made.resolver.load_fixations(table)
        return made

    def upgrade(self, model: Any, before: Any, after: Any, target: Any = None, **more: Any) -> dict[str, Any]:
        """``before`` and ``after``: the version of package ``t``, or a table; ``model``: a root, or a whole model."""
        tables = [{"t": [one]} if isinstance(one, str) else one for one in (before, after)]
        wanted = UpgradeRequest(*tables, target or {name: versions[-1] for name, versions in tables[1].items()}, **more)
        return upgraded(model if "Objects" in model else {"Objects": model}, wanted, self.session)
