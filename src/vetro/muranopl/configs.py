"""Class configurations as the language asks for them, and ones held in memory (SEMANTICS 5.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from vetro.muranopl.declarations.versions import Version, parse_version


class Configs(Protocol):
    """Where class configurations come from."""

    def get(self, class_name: str, version: Version) -> Mapping[str, Any]:
        """The values for a class of that package version; empty when there are none."""
        ...


def suffixes(version: Version) -> tuple[str, ...]:
    """The version parts of configuration names, in the order they are tried; '' (any version) for major 0 only."""
    major, minor, patch = version.major, version.minor, version.patch
    tried = (f"-{major}.{minor}.{patch}", f"-{major}.{minor}", f"-{major}")
    return tried if major else (*tried, "")


class MemoryConfigs:
    """Configurations given as mappings with ``class``, ``values`` and, optionally, ``version`` (full or partial)."""

    def __init__(self, entries: Iterable[Mapping[str, Any]] = ()) -> None:
        self._entries: dict[str, Mapping[str, Any]] = {}
        for entry in entries:
            version = entry.get("version")
            suffix = "" if version is None else f"-{version}"
            if suffix:
                parse_version(suffix[1:])  # a typing error would never be found otherwise
            self._entries[f"{entry['class']}{suffix}"] = entry.get("values") or {}

    def get(self, class_name: str, version: Version) -> Mapping[str, Any]:
        """The values for a class; empty when there are none."""
        for suffix in suffixes(version):
            values = self._entries.get(class_name + suffix)
            if values is not None:
                return values
        return {}
