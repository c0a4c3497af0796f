"""Class configurations: values for Config properties and replacements of defaults (SEMANTICS 5.7)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from vetro.muranopl.errors import MuranoError
from vetro.muranopl.versions import Version, parse_version
from vetro.packages.yamltree import TreeError, plain, read_documents


class ConfigError(MuranoError):
    """A class configuration file cannot be read."""

    kind = "value-error"
    code = "PKG160"


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


class ClassConfigs:
    """Files ``<class>[-<version>].json|yaml`` in a folder; the most specific one counts, JSON before YAML.

    Each file is read once. A folder that does not exist holds no configurations.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.path.abspath(directory)
        self._names: frozenset[str] | None = None
        self._read: dict[str, Mapping[str, Any]] = {}

    def get(self, class_name: str, version: Version) -> Mapping[str, Any]:
        """The values for a class. Raises `ConfigError` with file and position for what cannot be read."""
        if self._names is None:
            try:
                self._names = frozenset(os.listdir(self._directory))
            except (FileNotFoundError, NotADirectoryError):
                self._names = frozenset()
        for suffix in suffixes(version):
            for extension in ("json", "yaml"):
                name = f"{class_name}{suffix}.{extension}"
                if name in self._names:
                    return self._load(name)
        return {}

    def _load(self, name: str) -> Mapping[str, Any]:
        values = self._read.get(name)
        if values is None:
            file = os.path.join(self._directory, name)
            try:
                with open(file, "rb") as stream:
                    values = _parse(stream.read(), file)
            except OSError as error:
                raise ConfigError(f"{file}: {error.strerror}") from None
            self._read[name] = values
        return values


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


def _parse(content: bytes, file: str) -> Mapping[str, Any]:
    # JSON is a subset of YAML but for tabs and some escapes, so files named .json are read as JSON.
    if file.endswith(".json"):
        import json

        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{file}: not valid JSON: {error}") from None
    else:
        try:
            documents = read_documents(content, file)
            data = plain(documents[0]) if documents else None
        except TreeError as error:
            raise ConfigError(error.message, position=error.position, hint=error.hint) from None
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ConfigError(f"{file}: has to be a mapping of property names to values")
    return data
