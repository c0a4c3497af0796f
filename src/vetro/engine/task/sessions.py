"""Packages and the session of a task: new ones (`Sessions`), or those that a task before left (`LinkedSessions`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.engine.installation import Installation
from vetro.engine.task.task import Task
from vetro.library import core_package
from vetro.muranopl.api import Engine
from vetro.muranopl.package_protocols import CORE_LIBRARY
from vetro.muranopl.runtime.execution import EffectClock
from vetro.muranopl.session import Session
from vetro.yaql.context import Limits

#: The largest single value may take this part of the task's memory.
VALUE_SHARE = 4


def packages_of(task: Task) -> list[Any]:
    """The task's packages. Raises `PackageError` and whatever else loading packages raises."""
    from vetro.packages import load_path
    from vetro.packages.formats import FormatRegistry

    registry = None if task.plugins is None else FormatRegistry(enabled=task.plugins)
    return [package for path in task.packages for package in load_path(path, registry=registry)]


def limits_of(task: Task) -> Limits:
    """What package code of a task may use up."""
    defaults = Limits()
    value = defaults.max_expression_memory
    if task.budget.memory_mib is not None and value is not None:
        value = min(value, (task.budget.memory_mib << 20) // VALUE_SHARE)
    return Limits(
        max_steps=defaults.max_steps if task.budget.steps is None else task.budget.steps,
        max_expression_memory=value,
    )


def session_for(task: Task, packages: list[Any], effects: Any, installation: Installation) -> Session:
    """A session over the task's packages and the extensions that they require."""
    from vetro.packages.extensions.plugins import required_extensions

    extensions = required_extensions(packages, task.plugins, parent=installation.natives)
    engine = Engine(
        [*packages, *extensions.packages],
        limits=limits_of(task),
        configs=list(task.configs),
        natives=extensions.natives,
        effects=effects,
        clock=EffectClock(),
        seed=task.seed,
        code_cache=installation.cache,
        settings=task.settings,
    )
    usual = not (task.configs or extensions.packages) and engine.source.packages(CORE_LIBRARY) == [core_package()]
    # Where that is so, the core library is what it was when it was linked: ours, with our functions and defaults.
    linked = installation.linked.pop() if usual and installation.linked else None
    return _for_task(engine.session(linked=linked), task)


def _for_task(session: Session, task: Task) -> Session:
    session.resolver.bind(task.requirements)
    session.rt.finally_runs = True
    return session


def fixed_in(model: Mapping[str, Any]) -> Mapping[str, Iterable[str]]:
    """Package -> versions that a model says it used; nothing where it says so in another way."""
    data = model.get("SystemData") if isinstance(model, Mapping) else None
    found = data.get("Packages") if isinstance(data, Mapping) else None
    if not isinstance(found, Mapping) or not all(isinstance(one, (list, tuple)) for one in found.values()):
        return {}
    return {str(name): [str(version) for version in versions] for name, versions in found.items()}


class Sessions:
    """Where a `Performance` has its packages and sessions from: new ones each time."""

    def packages(self, task: Task) -> list[Any]:
        """See `packages_of`."""
        return packages_of(task)

    def open(
        self,
        task: Task,
        packages: list[Any],
        effects: Any,
        installation: Installation,
        fixed: Mapping[str, Iterable[str]],
    ) -> Session:
        """See `session_for`. ``fixed``: package -> versions that the run prefers."""
        return session_for(task, packages, effects, installation)


class LinkedSessions(Sessions):
    """The same, for many tasks after each other in one process: packages and linked classes are used again.

    Only for tasks that may know of each other: what runs in a process reaches all that was in it. A session is used
    again when its packages, settings and configurations are the same (`Session.restart`), and only once `end` says that
    the task before went well.
    """

    def __init__(self) -> None:
        self._packages: dict[tuple[str, ...], list[Any]] = {}
        self._free: dict[Any, list[Session]] = {}
        self._lent: list[tuple[Any, Session]] = []

    def packages(self, task: Task) -> list[Any]:
        """The packages of these paths, as they were when they were first read."""
        key = (str(task.plugins), *task.packages)
        if key not in self._packages:
            self._packages[key] = packages_of(task)
        return list(self._packages[key])

    def open(
        self,
        task: Task,
        packages: list[Any],
        effects: Any,
        installation: Installation,
        fixed: Mapping[str, Iterable[str]],
    ) -> Session:
        """A session whose run begins now."""
        told = [task.plugins, task.configs, task.settings, task.requirements, fixed]
        key = (tuple(map(id, packages)), json.dumps(told, sort_keys=True, default=str))
        free = self._free.get(key)
        if free:
            session = free.pop()
            session.restart(
                limits_of(task),
                effects=effects,
                fixed=fixed,
                clock=EffectClock(),
                settings=task.settings,
                seed=task.seed,
            )
            _for_task(session, task)
        else:
            session = session_for(task, packages, effects, installation)
        if session.source.settled(fixed):
            self._lent.append((key, session))
        return session

    def end(self, *, well: bool) -> None:
        """The tasks whose sessions were opened have ended."""
        for key, session in self._lent:
            if well:
                self._free.setdefault(key, []).append(session)
        self._lent.clear()
