"""Which properties are secret in an environment of a workspace: what the classes of its packages say."""

from __future__ import annotations

from functools import cache

from vetro.engine.models.differences import Secret
from vetro.engine.workspace.folder import EnvironmentFolder
from vetro.muranopl.api import Engine
from vetro.muranopl.secrecy import declared
from vetro.yaql.errors import VetroError


def secret_properties(folder: EnvironmentFolder) -> Secret:
    """For `diff`. Classes are read when they are asked for first; nothing of them runs."""

    @cache
    def engine() -> Engine:
        from vetro.packages import load_path

        return Engine([package for path in folder.package_paths() for package in load_path(path)], seed=0)

    @cache
    def names(class_name: str) -> frozenset[str]:
        try:
            return declared(engine(), class_name)
        except (VetroError, OSError):  # a class, or an archive, that is gone: what is left is shown
            return frozenset()

    return lambda class_name, name: name in names(class_name)
