"""Extension plug-ins: native classes from installed Python distributions, offered as packages (PACKAGES 6).

Every distribution that exports classes under the entry point group ``io.murano.extensions`` becomes one package of its
name. Its classes have the names of the entry points, and the same below ``io.murano.extensions``.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module, metadata
from typing import Any, Final, NamedTuple

from vetro.muranopl.declarations.versions import parse_spec
from vetro.muranopl.defaults import default_natives
from vetro.muranopl.errors import DeclarationError
from vetro.muranopl.types.native import NativeRegistry
from vetro.packages.errors import PluginError
from vetro.packages.extensions import ENTRY_POINT_GROUP
from vetro.packages.extensions.classes import ExtensionClass
from vetro.packages.extensions.package import NAMESPACE, ExtensionPackage
from vetro.packages.plugin_effects import EffectFunction

REQUIREMENTS_GROUP: Final = "io.murano.extensions.requirements"
#: The attribute of an exporting module that states what its package requires.
REQUIREMENTS: Final = "murano_requirements"
_CLASS_NAME: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

log = logging.getLogger(__name__)


class Extensions(NamedTuple):
    """Loaded extensions: give ``packages`` and ``natives`` to an `Engine`, and ``effects`` to its effects host."""

    packages: tuple[ExtensionPackage, ...]
    #: The native classes, as child of those of the core library.
    natives: NativeRegistry
    #: What was left out, and why.
    notes: tuple[str, ...]

    @property
    def effects(self) -> dict[str, EffectFunction]:
        """The effect functions of all packages by kind."""
        return {kind: function for package in self.packages for kind, function in package.effects.items()}

    def register_effects(self, effects: Any) -> None:
        """Lets an `InProcessEffects` (or what has its ``register``) perform the effects directly."""
        for kind, function in self.effects.items():
            effects.register(kind, function.perform)


def load_extensions(
    enabled: Collection[str] | None = None,
    *,
    only: Collection[str] | None = None,
    parent: NativeRegistry | None = None,
) -> Extensions:
    """The installed extensions.

    ``enabled`` limits them to these distributions (the setting ``enabled_plugins``; None: all); of those, ``only`` the
    named ones are imported. ``parent`` is asked for other native classes (default: the core library's). An extension
    that cannot be used is left out with a warning; a class that two distributions export is left out of both.
    """
    return _logged(_load_all(enabled, only, parent))


def required_extensions(
    packages: Iterable[Any], enabled: Collection[str] | None = None, *, parent: NativeRegistry | None = None
) -> Extensions:
    """The extensions that these packages, or such extensions, require and that are not among them.

    Imports nothing else. ``enabled`` and ``parent`` as in `load_extensions`.
    """
    given = list(packages)
    there = {p.name for p in given}
    wanted: set[str] = set()
    missing = {name for p in given for name in p.requirements} - there
    found = Extensions((), NativeRegistry(parent=default_natives() if parent is None else parent), ())
    while missing - wanted:
        wanted |= missing
        found = _load_all(enabled, wanted, parent)
        found = found._replace(packages=tuple(p for p in found.packages if p.name in wanted))
        missing = {name for p in found.packages for name in p.requirements} - there
    return _logged(found)


def resolve_effect(kind: str, enabled: Collection[str] | None = None) -> EffectFunction:
    """The function behind an effect kind ``plugin:<distribution>:<function>``; its ``perform(args)`` gives the answer.

    Raises `PluginError` when the distribution is not installed, not enabled, cannot be used or has no such function.
    """
    prefix, _, rest = kind.partition(":")
    distribution, _, name = rest.partition(":")
    if prefix != "plugin" or not name:
        raise PluginError(f"'{kind}' is no effect of a plug-in", hint="write plugin:<distribution>:<function>")
    loaded = load_extensions(enabled, only=[distribution])
    function = loaded.effects.get(kind)
    if function is None:
        known = ", ".join(loaded.effects) or "none"
        notes = "; ".join(loaded.notes)
        raise PluginError(
            f"no enabled extension performs '{kind}'", hint=notes or f"effects of {distribution} here: {known}"
        )
    return function


def _load_all(
    enabled: Collection[str] | None, only: Collection[str] | None, parent: NativeRegistry | None
) -> Extensions:
    notes: list[str] = []
    natives = NativeRegistry(parent=default_natives() if parent is None else parent)
    wanted = None if only is None else {canonical(name) for name in only}
    packages = []
    for distribution, points in _exported(enabled, notes).items():
        if wanted is None or canonical(distribution) in wanted:
            package = _load(distribution, points, notes)
            if package is not None:
                natives.classes.update(package.natives)
                packages.append(package)
    return Extensions(tuple(packages), natives, tuple(notes))


def _logged(loaded: Extensions) -> Extensions:
    for note in loaded.notes:
        log.warning("%s", note)
    return loaded


def canonical(distribution: str) -> str:
    """Distribution names as the package index compares them."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


# -- entry points -----------------------------------------------------------------------------------------------------


def installed() -> Sequence[metadata.EntryPoint]:
    """What distributions export. Reading all of them takes tens of milliseconds: once, until something is installed."""
    return _read(metadata.entry_points, tuple((path, _changed(path)) for path in sys.path))


@lru_cache(maxsize=8)
def _read(find: Callable[..., Any], places: tuple[tuple[str, float], ...]) -> Sequence[metadata.EntryPoint]:
    return tuple(find(group=ENTRY_POINT_GROUP))


def _changed(path: str) -> float:
    try:
        return os.stat(path or ".").st_mtime
    except OSError:
        return 0.0


def _exported(enabled: Collection[str] | None, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Distribution -> class name -> entry point, without what is malformed, not enabled or claimed twice."""
    allowed = None if enabled is None else {canonical(name) for name in enabled}
    claims: dict[str, list[tuple[str, Any]]] = {}
    for point in installed():
        distribution = _distribution(point)
        if allowed is not None and canonical(distribution) not in allowed:
            continue
        if not _CLASS_NAME.fullmatch(point.name):
            notes.append(f"extension '{point.name}' of {distribution} is left out: its name is no dotted class name")
            continue
        claims.setdefault(point.name.removeprefix(NAMESPACE), []).append((distribution, point))
    exported: dict[str, dict[str, Any]] = {}
    for points in claims.values():
        owners = sorted({distribution for distribution, _ in points})
        if len(owners) > 1:
            name = points[0][1].name
            notes.append(
                f"extension '{name}' is disabled: it is exported by {' and '.join(owners)}; remove one of them"
            )
            continue
        distribution, point = points[0]
        exported.setdefault(distribution, {})[point.name] = point
    return exported


def _distribution(point: Any) -> str:
    return str(point.dist.name) if point.dist is not None else str(point.value)


def _load(distribution: str, points: Mapping[str, Any], notes: list[str]) -> ExtensionPackage | None:
    classes: list[ExtensionClass] = []
    modules: list[str] = []
    for name, point in sorted(points.items()):
        try:
            python_class = point.load()
            if not isinstance(python_class, type):
                raise TypeError(f"{point.value} is no class")
            _initialise(python_class)
            classes.append(ExtensionClass(name, python_class, distribution))
            modules.append(python_class.__module__)
        except Exception as error:
            what = error.message if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
            notes.append(f"extension '{name}' of {distribution} is left out: {what}")
    if not classes:
        return None
    try:
        requirements = _requirements(distribution, modules)
        effects = _effects(distribution, modules)
    except PluginError as error:
        notes.append(f"{distribution} is left out: {error.message}")
        return None
    point = next(iter(points.values()))
    described = point.dist.metadata if point.dist is not None else {}
    return ExtensionPackage(distribution, classes, requirements, effects, described)


@cache
def _initialise(python_class: type) -> None:
    """Calls ``init_plugin`` once a process."""
    initialise = getattr(python_class, "init_plugin", None)
    if initialise is not None:
        initialise()


def _requirements(distribution: str, modules: Iterable[str]) -> dict[str, str]:
    stated = [getattr(import_module(module), REQUIREMENTS, None) for module in modules]
    for point in metadata.entry_points(group=REQUIREMENTS_GROUP):
        if canonical(_distribution(point)) == canonical(distribution):
            try:
                stated.append(point.load())
            except Exception as error:
                raise PluginError(f"its requirements {point.value} cannot be loaded: {error}") from error
    found: dict[str, str] = {}
    for mapping in stated:
        if mapping is None:
            continue
        if not isinstance(mapping, Mapping):
            raise PluginError(f"'{REQUIREMENTS}' is no mapping but {type(mapping).__name__}")
        found.update({str(name): "" if spec is None else str(spec) for name, spec in mapping.items()})
    for name, spec in found.items():
        try:
            parse_spec(spec)
        except DeclarationError as error:
            raise PluginError(f"'{REQUIREMENTS}' is malformed for '{name}': {error.message}") from None
    return found or {"io.murano": "0"}


def _effects(distribution: str, modules: Iterable[str]) -> dict[str, EffectFunction]:
    """The effect functions in the imported modules of the packages that the extension classes live in."""
    roots = {module.partition(".")[0] for module in modules}
    found: dict[str, EffectFunction] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] not in roots or module is None:
            continue
        spaces = [vars(module), *(vars(v) for v in list(vars(module).values()) if isinstance(v, type))]
        for function in [v for space in spaces for v in space.values() if isinstance(v, EffectFunction)]:
            if function.__module__.partition(".")[0] not in roots:
                continue  # imported from another plug-in, whose function it stays
            function.distribution = distribution
            if found.setdefault(function.kind, function) is not function:
                raise PluginError(
                    f"it has two effect functions '{function.name}'; name one of them with @effect(name=…)"
                )
    return found
