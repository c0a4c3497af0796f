"""Which class reads a package: formats by name and SemVer version (PACKAGES 3, 7).

MuranoPL is built in; other formats come from installed distributions and are looked for only when a package needs one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import Version, version_key
from vetro.muranopl.errors import DeclarationError
from vetro.packages.errors import PackageError, PluginError, UnknownFormat
from vetro.packages.files import FileTree
from vetro.packages.manifest import MURANOPL, Format, Manifest, parse_format, parse_manifest
from vetro.packages.muranopl import FORMAT_VERSIONS, MuranoPLPackage
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.plugin import ENTRY_POINT_GROUP, Package

log = logging.getLogger(__name__)

HOT = "Heat.HOT/1.0"
#: The distribution of the built-in formats.
OWN = "vetro"

#: Called with (format_name, runtime_version, source_directory, manifest).
Factory = Callable[..., Package]


@dataclass(frozen=True, slots=True)
class Registration:
    """One format version and who reads it. ``load`` gives the class; distributions are imported only then."""

    format: Format
    load: Callable[[], Factory]
    #: The distribution, for messages.
    origin: str


class FormatRegistry:
    """The formats that can be read.

    ``discover`` looks for installed plug-ins, once, when a format is asked for that is not registered;
    ``enabled`` limits them to these distributions (None: all).
    """

    def __init__(self, *, discover: bool = True, enabled: Collection[str] | None = None) -> None:
        self._formats: dict[str, list[Registration]] = {}
        self._disabled: dict[Format, str] = {}
        self._discover = discover
        self._enabled = None if enabled is None else {_canonical(name) for name in enabled}
        #: Why entry points were left out.
        self.notes: list[str] = []
        for version in FORMAT_VERSIONS:
            self.register(f"{MURANOPL}/{version}", MuranoPLPackage, origin=OWN)
        self._add(parse_format(HOT), _hot, OWN)

    def register(self, format_text: str, factory: Factory, *, origin: str = "the program") -> None:
        """Adds a format. Raises `PluginError` when the name is malformed or taken."""
        self._add(self._parse(format_text, origin), lambda: factory, origin)

    def known(self) -> list[Format]:
        """All formats, by name and version."""
        self._find_plugins()
        return [r.format for name in sorted(self._formats) for r in self._formats[name]]

    def resolve(self, wanted: Format) -> Registration:
        """Who reads a format: an exact match, else the highest with the same major.minor and no lower patch.

        Raises `UnknownFormat`, saying which formats there are.
        """
        found = self._match(wanted)
        if found is None:
            self._find_plugins()
            found = self._match(wanted)
        if found is None:
            raise self._unknown(wanted)
        return found

    def load(self, files: FileTree, manifest: Manifest | None = None) -> LoadedPackage:
        """The package with these files.

        Raises `ManifestError`, `UnknownFormat`, and `PluginError` when its format plug-in breaks the interface.
        """
        if manifest is None:
            manifest = parse_manifest(files.read(MANIFEST), files.file_id(MANIFEST))
        registration = self.resolve(manifest.format)
        factory = self._factory(registration)
        source: Any = files if getattr(factory, "needs_directory", True) is False else files.directory()
        version = manifest.format.version if registration.origin == OWN else _foreign(manifest.format.version)
        try:
            plugin = factory(manifest.format.name, version, source, dict(manifest.raw))
        except Exception as error:
            if isinstance(error, PackageError) and registration.origin == OWN:
                raise
            raise PluginError(
                Text(
                    "{location}: format {format} ({origin}) refuses the package: {error}",
                    location=files.location,
                    format=registration.format,
                    origin=registration.origin,
                    error=error,
                ),
                position=error.position if isinstance(error, PackageError) else None,
                hint=error.hint if isinstance(error, PackageError) else None,
            ) from error
        if not isinstance(plugin, Package):
            raise PluginError(
                Text(
                    "format {format} of {origin} is no package format: {name} does not derive from "
                    "vetro.packages.plugin.Package",
                    format=registration.format,
                    origin=registration.origin,
                    name=type(plugin).__name__,
                )
            )
        return LoadedPackage(plugin, manifest, files, registration.origin)

    # -- inner --------------------------------------------------------------------------------------------------

    @staticmethod
    def _parse(text: str, origin: str) -> Format:
        try:
            return parse_format(text)
        except DeclarationError as error:
            raise PluginError(
                Text("{origin} registers a malformed format: {message}", origin=origin, message=error.message),
                hint=error.hint,
            ) from None

    def _add(self, added: Format, load: Callable[[], Factory], origin: str) -> None:
        registered = self._formats.setdefault(added.name, [])
        other = next((r for r in registered if r.format == added), None)
        if other is not None:
            raise PluginError(
                Text(
                    "format {added} of {origin} is already registered by {origin2}",
                    added=added,
                    origin=origin,
                    origin2=other.origin,
                )
            )
        registered.append(Registration(added, load, origin))
        registered.sort(key=lambda r: version_key(r.format.version))

    def _match(self, wanted: Format) -> Registration | None:
        registered = self._formats.get(wanted.name, ())
        for registration in registered:
            if registration.format.version == wanted.version:
                return registration
        fitting = [
            r
            for r in registered
            if _series(r.format.version) == _series(wanted.version)
            and version_key(r.format.version) >= version_key(wanted.version)
        ]
        return fitting[-1] if fitting else None

    def _factory(self, registration: Registration) -> Factory:
        try:
            factory = registration.load()
        except Exception as error:
            raise PluginError(
                Text(
                    "format {format} of {origin} cannot be loaded: {name}: {error}",
                    format=registration.format,
                    origin=registration.origin,
                    name=type(error).__name__,
                    error=error,
                ),
                hint=Text("reinstall or remove {origin}", origin=registration.origin),
            ) from error
        if not callable(factory):
            raise PluginError(
                Text(
                    "format {format} of {origin} names no class", format=registration.format, origin=registration.origin
                )
            )
        return factory

    def _find_plugins(self) -> None:
        if not self._discover:
            return
        self._discover = False
        from importlib.metadata import entry_points

        claims: dict[Format, list[tuple[str, Any]]] = {}
        for point in entry_points(group=ENTRY_POINT_GROUP):
            origin = point.dist.name if point.dist is not None else point.value
            if self._enabled is not None and _canonical(origin) not in self._enabled:
                self.notes.append(f"format {point.name} of {origin} is not enabled")
                continue
            try:
                claimed = self._parse(point.name, origin)
            except PluginError as error:
                self._leave_out(error.message)
                continue
            claims.setdefault(claimed, []).append((origin, point))
        for claimed, points in claims.items():
            origins = sorted({origin for origin, _ in points})
            if len(origins) > 1:
                # Which one would win depends on the order of directories: nobody could say what a package means.
                self._disabled[claimed] = f"it is claimed by {' and '.join(origins)}; remove one of them"
                self._leave_out(f"format {claimed} is disabled: {self._disabled[claimed]}")
                continue
            try:
                self._add(claimed, points[0][1].load, origins[0])
            except PluginError as error:
                self._leave_out(error.message)

    def _leave_out(self, note: str) -> None:
        log.warning("%s", note)
        self.notes.append(note)

    def _unknown(self, wanted: Format) -> UnknownFormat:
        if wanted in self._disabled:
            return UnknownFormat(
                Text("format {wanted} is disabled: {disabled}", wanted=wanted, disabled=self._disabled[wanted])
            )
        there = self._formats.get(wanted.name)
        if there:
            versions = _short(r.format.version for r in there)
            message = Text(
                "format {wanted} is unknown, this engine knows {name} {versions}",
                wanted=wanted,
                name=wanted.name,
                versions=versions,
            )
            return UnknownFormat(message, hint=Text("the package is made for another version of the engine"))
        names = ", ".join(sorted(self._formats))
        message = Text("format {wanted} is unknown, this engine knows {names}", wanted=wanted, names=names)
        notes = [note for note in self.notes if f"{wanted.name}/" in note]
        hint = "; ".join(notes) or Text(
            "install the plug-in that registers '{name}' under {entry_point_group}",
            name=wanted.name,
            entry_point_group=ENTRY_POINT_GROUP,
        )
        return UnknownFormat(message, hint=hint)


def _hot() -> Factory:
    from vetro.packages.hot.package import HotPackage  # most catalogs hold no template packages

    return HotPackage


def _foreign(version: Version) -> Any:
    """A version as plug-ins of others know it (PACKAGES 7)."""
    from semantic_version import Version as SemanticVersion  # it loads more modules than the language needs in all

    return SemanticVersion(str(version))


def _series(version: Version) -> tuple[int, int]:
    return version.major, version.minor


def _canonical(distribution: str) -> str:
    """Distribution names as the package index compares them."""
    return distribution.lower().replace("_", "-").replace(".", "-")


def _short(versions: Iterable[Version]) -> str:
    texts = [f"{v.major}.{v.minor}" if not v.patch and not v.prerelease else str(v) for v in versions]
    return f"{texts[0]} to {texts[-1]}" if len(texts) > 2 else " and ".join(texts)


@cache
def default_registry() -> FormatRegistry:
    """The registry with everything that is installed; one for the process."""
    return FormatRegistry()
