"""A distribution's extension classes as a package of the catalog (PACKAGES 6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from vetro.muranopl.declarations.versions import Version
from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.package_resolver import ClassText, ResourceNotFound, with_implicit_requirements
from vetro.muranopl.types.native import NativeClass
from vetro.packages.extensions.classes import ExtensionClass
from vetro.packages.flow import write
from vetro.packages.plugin_effects import EffectFunction

#: Applications address extensions below this namespace, whatever their entry points are called.
NAMESPACE: Final = "io.murano.extensions."


class ExtensionPackage:
    """Satisfies `vetro.muranopl.package_resolver.Package`. Version 0.0.0 whatever the distribution's; no resources."""

    format: tuple[int, int] = (1, 0)
    format_text = "MuranoPL/1.0.0"
    type: Literal["Library", "Application"] = "Library"
    meta: Any = None
    tags: Sequence[str] = ()

    def __init__(
        self,
        distribution: str,
        classes: Iterable[ExtensionClass],
        requirements: Mapping[str, str],
        effects: Mapping[str, EffectFunction],
        described: Any = None,
    ) -> None:
        self.name = distribution
        self.version = Version("0.0.0")
        self.requirements: Mapping[str, str] = dict(requirements)
        self.effective_requirements: Mapping[str, str] = with_implicit_requirements(
            self.name, self.version, self.requirements
        )
        #: Its effect functions by kind.
        self.effects: Mapping[str, EffectFunction] = dict(effects)
        self._described = described or {}
        self._texts: dict[str, str] = {}
        #: Its native classes by name.
        self.natives: dict[str, NativeClass] = {}
        for extension in classes:
            extension.package = self
            self.natives[extension.name] = extension.native
            self._texts[extension.name] = extension.text()
            if not extension.name.startswith(NAMESPACE):
                second = NAMESPACE + extension.name
                self._texts[second] = write({"Name": second, "Extends": extension.name})
        self.classes: Mapping[str, str] = {name: f"{distribution}/{name}.yaml" for name in self._texts}

    def __repr__(self) -> str:
        return f"<extension package {self.name}>"

    @property
    def location(self) -> str:
        """How messages call the place it comes from."""
        return f"installed distribution {self.name}"

    @property
    def display_name(self) -> str:
        """Its name for people."""
        return self.name

    @property
    def description(self) -> str | None:
        """The distribution's summary."""
        return self._text("Summary")

    @property
    def author(self) -> str | None:
        """The distribution's author."""
        return self._text("Author") or self._text("Author-email")

    def _text(self, key: str) -> str | None:
        value = self._described.get(key)
        return str(value) if value else None

    def read_class(self, name: str) -> ClassText:
        """The generated declaration. Raises `ClassNotFound` for foreign names."""
        if name not in self._texts:
            raise ClassNotFound(name, [self.name])
        text = self._texts[name]
        return ClassText(text, self.classes[name], hashlib.sha256(text.encode()).hexdigest())

    def resource(self, path: str) -> bytes:
        """Raises `ResourceNotFound`: there are none."""
        raise ResourceNotFound(f"package '{self.name}' has no resource '{path[:80]}': it is made of Python classes")

    def resource_text(self, path: str) -> str:
        """Raises `ResourceNotFound`: there are none."""
        return self.resource(path).decode()
