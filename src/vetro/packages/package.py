"""`LoadedPackage`: what the language and the services see of a package, whatever its format.

It asks the format plug-in once for the facts, checks their types, and turns whatever the plug-in does wrong into a
`PluginError` that names distribution and member; other packages are unaffected (PACKAGES 7).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

from vetro.diagnostics import Diagnostic, Text
from vetro.muranopl.declarations.versions import Version, parse_spec
from vetro.muranopl.errors import ClassNotFound, DeclarationError
from vetro.muranopl.package_resolver import ClassText, ResourceNotFound, with_implicit_requirements
from vetro.packages.errors import PackageError, PluginError
from vetro.packages.files import FileTree, decode
from vetro.packages.manifest import Manifest
from vetro.packages.muranopl import MuranoPLPackage
from vetro.packages.paths import inner_path
from vetro.packages.plugin import Package as Plugin
from vetro.packages.regular import read_regular

T = TypeVar("T")

#: The packages that come with Vetro (`vetro.library`).
STANDARD = ("io.murano", "io.murano.applications", "io.vetro", "io.vetro.std")
#: The oldest and the newest dialect there is; versions of foreign formats are clamped to them.
_OLDEST, _NEWEST = (1, 0), (1, 4)


class LoadedPackage:
    """One version of a package; satisfies `vetro.muranopl.package_resolver.Package`.

    Made by `vetro.packages.formats`.
    """

    def __init__(self, plugin: Plugin, manifest: Manifest, files: FileTree, origin: str) -> None:
        self._plugin = plugin
        self._origin = origin
        self.manifest = manifest
        self.files = files
        self.name: str = self._ask("full_name", str)
        self.version: Version = self._ask_version("version")
        self.format_text: str = str(manifest.format)
        runtime = self._ask_version("runtime_version")
        self.format: tuple[int, int] = max(_OLDEST, min(_NEWEST, (runtime.major, runtime.minor)))
        kind = self._ask("package_type", str)
        if kind not in ("Application", "Library"):
            raise self._broken("package_type", Text("gave '{kind}' instead of Application or Library", kind=kind))
        self.type: Literal["Application", "Library"] = "Application" if kind == "Application" else "Library"
        self.requirements: Mapping[str, str] = self._requirements()
        self.effective_requirements: Mapping[str, str] = with_implicit_requirements(
            self.name, self.version, self.requirements
        )
        self.classes: Mapping[str, str] = self._classes()

    def __repr__(self) -> str:
        return f"<package {self.name}/{self.version} at {self.files.location}>"

    # -- facts --------------------------------------------------------------------------------------------------

    @property
    def location(self) -> str:
        """Where it was loaded from."""
        return self.files.location

    @property
    def plugin(self) -> Plugin:
        """The format's own object."""
        return self._plugin

    @property
    def warnings(self) -> Sequence[Diagnostic]:
        """What the manifest should mend."""
        return self.manifest.warnings

    @property
    def meta(self) -> Any:
        """The manifest's `Meta` as plain data, or None."""
        return self._call("meta", lambda: self._plugin.meta)

    @property
    def display_name(self) -> str:
        """Its name for people."""
        return self._ask("display_name", str)

    @property
    def description(self) -> str | None:
        """What it is, for people."""
        value: str | None = self._ask_optional("description", str)
        return value

    @property
    def author(self) -> str | None:
        """Who wrote it."""
        value: str | None = self._ask_optional("author", str)
        return value

    @property
    def supplier(self) -> Any:
        """Who supplies it: a mapping, or None."""
        return self._call("supplier", lambda: self._plugin.supplier)

    @property
    def tags(self) -> Sequence[str]:
        """Words to find it by."""
        return tuple(str(tag) for tag in self._ask_optional("tags", (list, tuple)) or ())

    @property
    def logo(self) -> bytes | None:
        """Its picture. Raises `PackageError` when it is none or too large."""
        value: bytes | None = self._ask_optional("logo", bytes)
        return value

    @property
    def supplier_logo(self) -> bytes | None:
        """The supplier's picture."""
        value: bytes | None = self._ask_optional("supplier_logo", bytes)
        return value

    @property
    def ui(self) -> str | None:
        """Text of its form definition."""
        value: str | None = self._ask_optional("ui", str)
        return value

    @cached_property
    def blob(self) -> bytes:
        """The package as a ZIP archive."""
        return self._ask("blob", bytes)

    # -- files --------------------------------------------------------------------------------------------------

    def read_class(self, name: str) -> ClassText:
        """Text, file id and digest of the file with the class.

        Raises `ClassNotFound` for foreign names and `PackageError` when the file cannot be read.
        """
        if name not in self.classes:
            raise ClassNotFound(name, [self.name])
        answer: Any = self._call("get_class", lambda: self._plugin.get_class(name))
        text, file = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, self.classes[name])
        if isinstance(text, bytes):
            text = decode(text, str(file))
        if not isinstance(text, str):
            raise self._broken(
                "get_class", Text("gave {type} instead of text for '{name}'", type=type(text).__name__, name=name)
            )
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return ClassText(text, str(file), digest)

    def resource(self, path: str) -> bytes:
        """A file below ``Resources``. Raises `ResourceNotFound`, also for paths that lead out of it."""
        try:
            clean = inner_path(path)
        except ValueError as error:
            raise ResourceNotFound(
                Text(
                    "resource '{path}' of package '{name}' is refused: {error}",
                    path=path[:80],
                    name=self.name,
                    error=error,
                )
            ) from None
        try:
            if isinstance(self._plugin, MuranoPLPackage):
                return self.files.read(f"Resources/{clean}")
            file = self._ask_resource(clean)
            return read_regular(file)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise ResourceNotFound(
                Text("package '{name}' has no resource '{clean}'", name=self.name, clean=clean)
            ) from None
        except ValueError as error:
            raise ResourceNotFound(
                Text(
                    "resource '{clean}' of package '{name}' is refused: {error}",
                    clean=clean,
                    name=self.name,
                    error=error,
                )
            ) from None

    def resource_text(self, path: str) -> str:
        """A text resource with line ends ``\\n``. Raises `ResourceNotFound`; `PackageError` when it is no UTF-8."""
        text = decode(self.resource(path), self.files.file_id(f"Resources/{path}"))
        return text.replace("\r\n", "\n").replace("\r", "\n")

    # -- talking to the plug-in ---------------------------------------------------------------------------------

    def _requirements(self) -> dict[str, str]:
        result: dict[str, str] = {}
        for name, spec in (self._ask_optional("requirements", Mapping) or {}).items():
            text = "" if spec is None else str(spec)
            try:
                parse_spec(text)
            except DeclarationError as error:
                raise self._broken(
                    "requirements", Text("is malformed for '{name}': {message}", name=name, message=error.message)
                ) from None
            result[str(name)] = text
        return result

    def _classes(self) -> dict[str, str]:
        if isinstance(self._plugin, MuranoPLPackage):
            return dict(self._plugin.class_files)
        names = self._ask_optional("classes", (list, tuple)) or ()
        if not all(isinstance(name, str) for name in names):
            raise self._broken("classes", Text("has to be a list of names"))
        return {name: self.files.file_id(f"{name}.yaml") for name in names}

    def _ask_resource(self, name: str) -> str:
        path = self._call("get_resource", lambda: self._plugin.get_resource(name))
        if not isinstance(path, str):
            raise self._broken(
                "get_resource", Text("gave {type} instead of a path for '{name}'", type=type(path).__name__, name=name)
            )
        return path

    def _ask(self, member: str, kind: type[T]) -> T:
        value: object = self._call(member, lambda: getattr(self._plugin, member))
        if not isinstance(value, kind):
            raise self._broken(
                member, Text("gave {type} instead of {wanted}", type=type(value).__name__, wanted=kind.__name__)
            )
        return value

    def _ask_version(self, member: str) -> Version:
        """Plug-ins of others give the class of `semantic_version`, which is loaded then."""
        others = sys.modules.get("semantic_version")
        if others is not None and isinstance(given := self._ask(member, object), others.Version):
            return Version(str(given))
        return self._ask(member, Version)

    def _ask_optional(self, member: str, kind: Any) -> Any:
        value: object = self._call(member, lambda: getattr(self._plugin, member))
        if value is None or isinstance(value, kind):
            return value
        wanted = Text("a list") if isinstance(kind, tuple) else kind.__name__
        raise self._broken(member, Text("gave {type} instead of {wanted}", type=type(value).__name__, wanted=wanted))

    def _call(self, member: str, function: Callable[[], T]) -> T:
        try:
            return function()
        except PackageError:
            raise
        except Exception as error:
            raise self._broken(
                member, Text("failed with {type}: {error}", type=type(error).__name__, error=error)
            ) from error

    def _broken(self, member: str, what: str) -> PluginError:
        return PluginError(
            Text(
                "{location}: '{member}' of {name} ({origin}) {what}",
                location=self.files.location,
                member=member,
                name=type(self._plugin).__name__,
                origin=self._origin,
                what=what,
            ),
            hint=Text("this is a defect of {origin}, or a package that it cannot read", origin=self._origin),
        )
