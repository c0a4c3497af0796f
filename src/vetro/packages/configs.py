"""Class configurations: values for Config properties and replacements of defaults (SEMANTICS 5.7)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from vetro.muranopl.configs import Configs, MemoryConfigs, suffixes
from vetro.muranopl.declarations.versions import Version
from vetro.muranopl.errors import MuranoError
from vetro.packages.regular import read_regular
from vetro.packages.yamltree import TreeError, plain, read_documents

__all__ = ["ClassConfigs", "ConfigError", "Configs", "MemoryConfigs", "suffixes"]


class ConfigError(MuranoError):
    """A class configuration file cannot be read."""

    kind = "value-error"
    code = "PKG160"


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
                values = _parse(read_regular(file), file)
            except OSError as error:
                raise ConfigError(f"{file}: {error.strerror}") from None
            self._read[name] = values
        return values


def _parse(content: bytes, file: str) -> Mapping[str, Any]:
    # JSON is a subset of YAML but for tabs and some escapes, so files named .json are read as JSON.
    if file.endswith(".json"):
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
